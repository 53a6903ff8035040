void lost() {}
