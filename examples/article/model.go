package main

import (
	"fmt"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/providers"
)

const (
	planner    = "planner"
	supervisor = "supervisor"
)

// fromMemory is the warning about the sources of models.
const fromMemory = "The sources were named by a model that has no access to the web: check each of them."

// trades are the instructions of workers.
var trades = map[string]string{
	"web_search":          "You know many pages of the web. You name those that you are sure of, with their addresses, and make none up.",
	"academic_search":     "You know the academic literature. You name papers that you are sure of, with the addresses of their pages, and make none up.",
	"news_search":         "You know the news. You name articles that you are sure of, with their addresses, and make none up.",
	"web_scraper":         "You know what long pages of the web say in detail. You name those that you are sure of, and make none up.",
	"social_media":        "You know what is said in public on social media. You name posts and threads that you are sure of, and make none up.",
	"content_synthesizer": "You compare sources: what they agree on, where they differ, what is missing.",
	"article_writer":      "You write. You say nothing that the sources do not support, and link the source behind each claim in Markdown.",
	"fact_checker":        "You check each claim of a text, and say which are supported, which are not, and which contradict each other.",
	"editor":              "You edit: structure, style, repetition. You name places and say what to change.",
	"citation_formatter":  "You check the citations of a text and say which are missing or wrong.",
	"seo_optimizer":       "You say under which words people look for a text like this one.",
}

// cast lets one model play planner, supervisor and all workers.
func cast(m providers.Model) agent.Roster {
	play := func(text string) agent.Agent { return agent.LLM{Model: m, Instructions: text} }
	roster := agent.Roster{
		planner:    play("You plan the work of a team that writes researched articles."),
		supervisor: play("You judge researched articles, with the same strict measure every time."),
	}
	for _, w := range research.Catalogue() {
		roster[w.ID] = play(fmt.Sprintf("You are the %s of a team that writes researched articles. %s", w.ID, trades[w.ID]))
	}
	return roster
}
