#include "races/cluster_lifetime.h"

#include "findings/texts.h"
#include "memory/names.h"

namespace simulator {

void ClusterLifetime::on(const BlockBegin& event) {
  if (event.cluster_blocks > 1) owners_[event.seat] = {event.number, false, {}, {}};
}

/// Did it happen before something that a thread of the running block, which ends, has done?
bool ClusterLifetime::is_over(const Visit& visit, unsigned threads) const {
  for (unsigned thread = 0; thread < threads; ++thread) {
    if (ordering_.is_ordered(visit.record, thread)) return true;
  }
  return false;
}

void ClusterLifetime::on(const BlockEnd& event) {
  if (!launch_.has_clusters()) return;
  Owner& owner = owners_[ordering_.seat()];
  owner.has_ended = true;
  owner.end = event;
  const unsigned threads = launch_.block.x * launch_.block.y * launch_.block.z;
  for (const auto& [by, visit] : owner.visits) {
    if (!is_over(visit, threads)) tell_ended(visit, by.first, by.second, owner);
  }
  owner.visits.clear();
}

void ClusterLifetime::check_begun(const AccessEvent& event) {
  const unsigned seat = remote_seat(event.place);
  if (!ordering_.knows_begin_of(seat, event.thread)) tell_unbegun(event, owners_[seat]);
}

void ClusterLifetime::note_visit(const AccessEvent& event, const AccessRecord& record) {
  // An asynchronous store uses its barrier as well: that it ends too late is told of the store.
  if (event.access.is_barrier && ordering_.is_store(record)) return;
  Owner& owner = owners_[remote_seat(event.place)];
  const Visit visit = {record, event.access, event.place};
  if (owner.has_ended) {
    tell_ended(visit, ordering_.block(), event.thread, owner);
  } else {
    owner.visits[{ordering_.block(), event.thread}] = visit;
  }
}

void ClusterLifetime::tell_unbegun(const AccessEvent& event, const Owner& owner) {
  const Access& access = event.access;
  if (!findings_.is_first(Kind::cluster_lifetime, access.site)) return;
  const Findings::Writing writing(findings_);
  const ElementName element = element_at(memory_, MemorySpace::shared, access.address, access.size);
  findings_.add({Kind::cluster_lifetime,
                 launch_.kernel,
                 words_for(access.type).begin + element.text +
                     " of another block of the cluster, which may not have begun: no "
                     "cluster.sync() of both comes before.",
                 false,
                 {party(launch_, ordering_.block(), event.thread, access.site,
                        action_text(access) + " of block " + std::to_string(owner.block))},
                 element.buffer,
                 element.index});
}

void ClusterLifetime::tell_ended(const Visit& visit, std::uint64_t by_block, unsigned by_thread,
                                 const Owner& owner) {
  const Access& access = visit.access;
  if (!findings_.is_first(Kind::cluster_lifetime, access.site, owner.end.last_site)) return;
  const Findings::Writing writing(findings_);
  const ElementName element = element_at(memory_, MemorySpace::shared, access.address, access.size);
  findings_.add(
      {Kind::cluster_lifetime,
       launch_.kernel,
       words_for(access.type).begin + element.text +
           " of another block of the cluster, which may have ended, and its shared "
           "memory with it: " +
           (access.is_late ? "none of its threads has waited for the phase of the barrier in which "
                             "the store counts."
                           : "no cluster.sync() of both comes behind."),
       false,
       {party(launch_, by_block, by_thread, access.site,
              action_text(access) + " of block " + std::to_string(owner.block)),
        party(launch_, owner.block, owner.end.thread, owner.end.last_site,
              "did this last, and returned")},
       element.buffer,
       element.index});
}

}  // namespace simulator
