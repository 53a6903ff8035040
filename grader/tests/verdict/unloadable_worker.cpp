void lost();

int main() {
  lost();
}
