package main

import (
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/providers"
)

// instructions are those of the members of a team of models.
var instructions = map[discussion.Role]string{
	discussion.TeamLeader:  "You lead a team that looks for ideas. You set a direction, sum up what was said, and decide.",
	discussion.Researcher:  "You are the researcher of a team that looks for ideas. You bring facts and say how sure you are of them.",
	discussion.Ideation:    "You have the ideas in a team. Each is concrete: what happens, who does it, how it begins.",
	discussion.Critic:      "You are the critic of a team that looks for ideas. You doubt premises, fairly, and name ideas by their titles.",
	discussion.Implementer: "You know how things get done. You say which steps, means and people an idea needs.",
	discussion.Moderator:   "You moderate and judge. You use the whole scale of marks, and the same measure for all ideas.",
	discussion.UICreator:   "You make reports: HTML of one page, with inline styles, without scripts and without anything that is loaded.",
}

// cast lets one model play every member of the team.
func cast(m providers.Model) agent.Roster {
	roster := agent.Roster{}
	for role, text := range instructions {
		if role != discussion.UICreator {
			text += " Answer in at most 200 words, unless JSON is asked for."
		}
		roster[string(role)] = agent.LLM{Model: m, Instructions: text}
	}
	return roster
}
