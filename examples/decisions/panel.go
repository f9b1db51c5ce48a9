package main

// panel is a hiring panel. Two critics share a role and have tasks of their own; they are
// critic-1 and critic-2.
var panel = decision{
	topic: "Whom do we hire as the first engineer of the payments team?",
	team: `{
		"name": "hiring-panel",
		"team": [
			{"role": "team_leader", "agent": "chair"},
			{"role": "recruiter", "agent": "rita", "duty": "propose", "task": "Each idea is a candidate, by name, with the plan for the first year."},
			{"role": "critic", "agent": "tess", "task": "Doubt what the candidate can build."},
			{"role": "critic", "agent": "tom", "task": "Doubt how the candidate works with others."},
			{"role": "future colleague", "agent": "fay", "task": "Say with whom you would work, and why."},
			{"role": "moderator", "agent": "mo"}
		],
		"rounds": {"max": 1, "deepDive": 1},
		"policy": {"threshold": 7, "minIdeas": 2}
	}`,
	says: map[string][]string{
		"chair": {
			"We need somebody who ships alone for half a year.",
			"Ada's gap is closed by a month with the bank team; Ben's is not.",
			`{"idea_id": "idea-1"} Ada: her gap can be closed.`,
		},
		"rita": {
			`{"ideas": [{"title": "Ada", "description": "Ten years of ledgers; no cards yet."}, {"title": "Ben", "description": "Cards at two start-ups; left both within a year."}]}`,
			"Ada would spend her first month with the bank team.",
		},
		"tess": {"Ada has not seen a chargeback. Ben has.", "A month is enough for that."},
		"tom":  {"Ben left twice when it got hard.", "Nothing was said about Ben."},
		"fay":  {"With Ada: she asks before she builds."},
		"mo":   {`{"evaluations": [{"idea_id": "idea-1", "score": 8.2}, {"idea_id": "idea-2", "score": 6.1}]}`},
	},
}
