package main

// review is a security review. No role is one of the package's: a duty says who leads, who
// proposes and who scores, and a task what each is asked for.
var review = decision{
	topic: "Partners may upload spreadsheets, which our service reads. What do we do first?",
	team: `{
		"name": "security-review",
		"team": [
			{"role": "ciso", "agent": "ciso", "duty": "lead"},
			{"role": "attacker", "agent": "attacker", "task": "Say how you would break in. Be concrete."},
			{"role": "architect", "agent": "architect", "duty": "propose", "task": "Each idea is a measure that we can ship."},
			{"role": "compliance", "agent": "compliance", "task": "Say which law or contract a measure meets, or misses."},
			{"role": "auditor", "agent": "auditor", "duty": "score"}
		],
		"rounds": {"max": 2},
		"policy": {"threshold": 7},
		"rules": {
			"turns": {"order": ["attacker", "architect", "compliance", "ciso"]},
			"scorer": {"risk_removed": 3, "effort": 1}
		}
	}`,
	says: map[string][]string{
		"ciso": {
			"We rank by the risk that a measure removes. Attacker first.",
			"The parser is the way in. Next round: what holds even if it is broken?",
			"Three measures; isolation holds even against a parser that is broken.",
			`{"idea_id": "idea-1"} Scanning is what we can buy today.`,
		},
		"attacker": {
			"A zip bomb in the file, then a formula that fetches an address of mine.",
			"A scanner does not know my file. A parser without a network is of little use to me.",
		},
		"architect": {
			`{"ideas": [{"title": "Scan uploads", "description": "A scanner before storage."}, {"title": "Limit size and depth", "description": "10 MB, no nested archives."}]}`,
			`{"ideas": [{"title": "Parse in a sandbox", "description": "A process without network, 1 s, 256 MB."}]}`,
		},
		"compliance": {
			"The contract wants a scan. It says nothing of what a scan misses.",
			"A sandbox meets the clause on isolation; log what it refuses.",
		},
		"auditor": {`{"evaluations": [
			{"idea_id": "idea-1", "criteria": {"risk_removed": 5, "effort": 8}},
			{"idea_id": "idea-2", "criteria": {"risk_removed": 6, "effort": 9}},
			{"idea_id": "idea-3", "criteria": {"risk_removed": 9, "effort": 6}}
		]}`},
	},
}
