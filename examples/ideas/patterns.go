package main

import (
	"fmt"
	"strings"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
)

// pattern is a kind of idea that suits any topic. What and steps are about the words
// %[1]s and %[2]s.
type pattern struct{ name, category, what, steps string }

var patterns = []pattern{
	{
		"Open evening", "event", "Once a month an evening belongs to %[1]s, and whoever comes decides what happens with %[2]s.",
		"First ask ten people which day suits them. Then hold one evening with the means at hand. Finally count who came, and who wants to come again.",
	},
	{
		"Swap shelf", "exchange", "A shelf where everybody leaves something about %[1]s and takes something about %[2]s.",
		"First clear a metre of room near the entrance. Then fill it with twenty things and a list. Finally compare each week what left and what stayed.",
	},
	{
		"Ambassadors", "people", "Volunteers who know %[1]s best speak for %[2]s where others of their kind already meet.",
		"First find three volunteers. Then give them material and an hour of practice. Finally measure after a month whom they have reached.",
	},
	{
		"Maker corner", "workshop", "A corner with tools where a small team builds what %[1]s lacks and learns about %[2]s on the way.",
		"First collect tools on loan. Then offer one afternoon a week with somebody who can show how. Finally exhibit what was built and ask for the next wish.",
	},
	{
		"Challenge board", "game", "A public board with a new challenge about %[1]s every week, and points for those who bring %[2]s into it.",
		"First write eight challenges. Then run them for two months with a small prize from the budget. Finally count entries and drop the two weakest kinds.",
	},
	{
		"Night walk", "event", "A guided walk after dark on which %[1]s is met at five stations and %[2]s explains the last one.",
		"First choose a route that takes an hour. Then rehearse it with six people. Finally ask every walker for one sentence and measure the waiting list.",
	},
	{
		"Silent hour", "space", "An hour a day without any offer at all, where %[1]s is left in peace and %[2]s finds room of its own.",
		"First pick the quietest hour. Then reserve the room for a month with a plain sign. Finally compare how many stay, and for how long.",
	},
	{
		"Box on loan", "service", "A box about %[1]s that people carry home for a week, with a task that brings %[2]s back in it.",
		"First pack two boxes from existing material. Then lend them to four families. Finally ask what was missing and count how often it goes out.",
	},
	{
		"Podcast table", "media", "A microphone on a table where people talk about %[1]s, and one short piece about %[2]s goes out each month.",
		"First borrow a recorder. Then record three talks of ten minutes. Finally measure how many listen to the end and ask guests to bring guests.",
	},
	{
		"Council of users", "governance", "Seven people whom %[1]s concerns decide about a small budget for %[2]s, and nobody overrules them.",
		"First name the money and the rules on one page. Then draw the seven by lot. Finally publish each decision, and compare after a year what it brought.",
	},
	{
		"Reverse mentors", "people", "Those who are new to %[1]s teach the experienced, and %[2]s is the subject of every second lesson.",
		"First form four pairs. Then give each pair an hour a week and a list of questions. Finally ask both sides what they would keep.",
	},
	{
		"Pop-up counter", "service", "A counter on wheels that takes %[1]s to places where nobody expects %[2]s.",
		"First fit out one trolley. Then stand at three places on a weekend day each. Finally count the talks that lasted, and return to the best place.",
	},
}

// rehearsed ends the descriptions of a rehearsal.
const rehearsed = " (Rehearsed.)"

// idea is what ideation answers with.
type idea struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Category    string `json:"category"`
}

// fresh makes n ideas that are not there yet. Only some name first steps at once.
func (p player) fresh(t talk, n int) []idea {
	var all []idea
	from := rehearsal.Dice(strings.Join(p.words, " "), len(patterns))
	for i := 0; len(all) < n && i < len(patterns)*len(p.words); i++ {
		k := patterns[(from+i)%len(patterns)]
		a, b := p.pair(i)
		title := k.name + ": " + a
		if b != "" {
			title += " and " + b
		}
		if t.has(title) {
			continue
		}
		text := fmt.Sprintf(k.what, quote(a), quote(or(b, "everyday life")))
		if rehearsal.Dice(title, 3) == 0 {
			text += " " + k.steps
		}
		all = append(all, idea{title, text + rehearsed, k.category})
	}
	return all
}

// pair are the words of the i-th fresh idea; the second is "" if there is but one.
func (p player) pair(i int) (a, b string) {
	n := len(p.words)
	if n == 1 {
		return p.words[0], ""
	}
	i += i / len(patterns) // other words for the same pattern
	return p.words[i%n], p.words[(i+1+i/n%(n-1))%n]
}

const better = "Second version: "

// improved makes better versions of at most n ideas in which something is missing, the
// newest first: they take up more of the topic's words, and say how to begin.
func (p player) improved(t talk, n int) []idea {
	var all []idea
	for i := len(t.ideas) - 1; i >= 0 && len(all) < n; i-- {
		old := t.ideas[i]
		k, ok := patternOf(old.title)
		if !ok || t.has(better+old.title) || strings.HasPrefix(old.title, better) {
			continue
		}
		text := strings.TrimSuffix(old.text, rehearsed)
		if missing := rehearsal.Missing(p.words, old.title+" "+text); len(missing) > 0 {
			text += " It also takes up " + list(missing) + "."
		}
		if !strings.Contains(text, k.steps) {
			text += " " + k.steps
		}
		if text+rehearsed == old.text {
			continue
		}
		all = append(all, idea{better + old.title, text + rehearsed, k.category})
	}
	return all
}

func patternOf(title string) (pattern, bool) {
	for _, k := range patterns {
		if strings.HasPrefix(title, k.name+": ") {
			return k, true
		}
	}
	return pattern{}, false
}

func quote(word string) string { return "“" + word + "”" }

// list are words in quotation marks, as a sentence has them.
func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " and " + quoted[len(quoted)-1]
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
