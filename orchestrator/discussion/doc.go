// Package discussion is a team that talks in rounds and decides by score: a leader sets
// the direction; a researcher, an ideation specialist, a critic and an implementer speak
// in turn and read all messages; the leader sums up each round; a moderator scores the
// ideas; the best one wins; and a report is made.
//
// [New] makes a flow of a [Config]; [Vote], [Standard], [Extended] and [Full] are
// configs to start from. No model controls the run: who speaks when, which ideas count, what a
// score is and which idea wins are computed, and the leader's own choice is recorded as
// a comment. Each of these rules can be replaced: see [Rules]. [Outcome] has the whole
// discussion, also beside an error. [Page] makes an HTML page of it, without a model.
//
// # Roles
//
// These seven roles are a preset. Members may have any roles, and several may share one: a
// [Member] says in its Task what it is asked for, and in its [Duty] whether it leads, has
// ideas, speaks, scores or makes the page. [InOrder] can have an order of the host.
//
// # A run
//
// Kickoff: the leader opens; if that fails, the run fails. Rounds: see [Rounds]; a
// member that fails misses only its turn, and ideation is asked for missing ideas after
// the last round. Validation: the moderator scores every idea. If no grade can be used, it is
// asked once more; and so it is for those ideas that got none, which are ungraded then, and
// cannot win. Selection: the leader names its choice, and the highest score wins, the first of
// equals. Without any score the leader's choice wins, which is asked for once more if it does
// not come; then the first idea. Visualization: the ui_creator makes a page.
//
// # Prompts
//
// Config.Prompts may replace each of these files; all get the same fields:
//
//	kickoff.tmpl     the leader opens
//	research.tmpl    the researcher
//	ideate.tmpl      ideation in round 1
//	improve.tmpl     ideation from round 2 on
//	topup.tmpl       ideation, for ideas that are missing
//	criticize.tmpl   the critic
//	implement.tmpl   the implementer
//	speak.tmpl       a member in a role of the host
//	answer.tmpl      ideation to the critic, in a deep dive
//	reply.tmpl       the critic to that answer
//	synthesize.tmpl  the leader sums up a round
//	validate.tmpl    the moderator
//	select.tmpl      the leader chooses
//	report.tmpl      the ui_creator
//
//	.Context  what [BuildContext] makes: topic, messages, ideas with scores
//	.Size     members of the team
//	.Members  names of those that the leader directs
//	.Round    1, 2, …; 0 outside of the rounds
//	.Rounds   how many there are
//	.Missing  topup.tmpl: how many ideas are still wanted
//	.Only     validate.tmpl: IDs of the ideas to assess, where not all are
//	.Final    report.tmpl: the final [Idea], or nil
//	.Scored   select.tmpl: whether ideas have scores
//	.Name     of the member that the prompt is for
//	.Role     its role, in words
//	.Criteria validate.tmpl: what ideas get marks for
//
// A member's Task stands behind the prompt, whichever it is. The function data delimits a text of others: {{data "winner" .Final.Title}}.
//
// # Events
//
// The constants that begin with Event are the kinds of a run's own records; [Event] is
// their data.
package discussion
