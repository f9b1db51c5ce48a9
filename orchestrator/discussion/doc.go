// Package discussion is a team that talks in rounds and decides by score: a leader
// sets the direction, a researcher, an ideation specialist, a critic and an
// implementer speak in turn and hear all that was said, the leader sums up each
// round, a moderator scores the ideas, the best one wins, and a report is made.
//
// [New] makes a flow of a [Config]; [Standard], [Extended] and [Full] are configs to
// start from. No model decides anything: who speaks when, which ideas count, what a
// score is and who wins are computed, and the leader's own choice is kept as a
// comment. [Outcome] has the whole discussion, also beside an error. [Page] makes a
// page for people of it, without a model.
package discussion
