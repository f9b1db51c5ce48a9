// Package page makes HTML pages about the work of a team. First comes the result with its
// reason, the cost and the warnings, then how it came about. A page loads nothing and has
// no script, and all text of agents is escaped.
//
//	p := page.Of("Research", brief.Topic, out.Outcome)
//	p.Result = page.Card{Won: true, Title: "Article", Score: &page.Score{Value: 82, Gate: 75, Max: 100}, Text: out.Article}
//	p.Sections = []page.Section{{ID: "course", Title: "How it came about", Steps: steps}}
//	html, err := p.HTML()
package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// Page has the parts of a page, from top to bottom.
type Page struct {
	Team       string    // name of the kind of team, in words
	Title      string    // the task, as the team was asked
	Status     string    // status of the run, in words
	Result     Card      // the result, or a text that there is none
	Facts      []Fact    // figures, shown in this order
	Unverified []string  // names of the parts of the result that no gate has passed
	Warnings   []Note    // messages about the result and how it was made
	Sections   []Section // parts below
}

// Fact is a figure, such as the cost.
type Fact struct {
	Name  string // name of the figure, such as "Cost"
	Value string // text with its unit
}

// Note is a message to a person, such as a warning.
type Note struct {
	Who  string // the member that it is about; "": none
	Text string // the message, one sentence or more
}

// Section is a part of the page. Its Note, Text, Bars, Cards, Steps and Frame are shown in
// this order. A section that has at most a note is left out. Bars and Cards after the first
// 20 are folded.
type Section struct {
	ID    string // anchor in the page; unique there
	Title string // heading
	Note  string // sentence under the title
	Text  string // Markdown is shown as plain paragraphs, JSON as a list
	Bars  []Bar  // scores side by side
	Cards []Card // pieces of work
	Steps []Step // course of the run
	Frame string // HTML of an agent, shown in a frame that can run and load nothing
}

// Card shows one piece of work: the result, an idea, or the work of a member.
type Card struct {
	Label string   // line above the title
	Title string   // name of the work; "": none
	Score *Score   // nil: none
	Why   string   // sentence with the reason for the result
	Tags  []string // short remarks such as "round 2"
	Text  string   // Markdown is shown as plain paragraphs, JSON as a list
	Bars  []Bar    // scores of its parts
	Pros  []string // points for it
	Cons  []string // points against it
	Quote *Turn    // a member's words about it; nil: none
	Won   bool     // it is the result, and is marked so
}

// Bar shows a score as a picture.
type Bar struct {
	Name  string // name of the thing that has the score
	Score Score  // drawn with its gate
}

// Step is a part of the course of a run: a round, an iteration, a department.
type Step struct {
	Title string `json:"title"`           // name of the step, such as "Round 2"
	Turns []Turn `json:"turns,omitempty"` // folded; who and the first line are visible
}

// Turn is one contribution of a member.
type Turn struct {
	Who   string `json:"who,omitempty"`   // name of the member
	What  string `json:"what,omitempty"`  // remark such as "try 2 of 3"
	Score *Score `json:"score,omitempty"` // nil: none
	Text  string `json:"text,omitempty"`  // Markdown is shown as plain paragraphs, JSON as a list

	Output string `json:"output,omitempty"` // output of a program, shown verbatim after Text
	Diff   string `json:"diff,omitempty"`   // difference in unified format, shown verbatim after Output, its lines marked
}

// Score is a score on a scale, with the gate that it had to reach.
type Score struct {
	Value float64 `json:"value"`         // 0 to Max
	Gate  float64 `json:"gate,omitzero"` // 0: none
	Max   float64 `json:"max"`           // above 0, such as 1, 10 or 100
}

// Below reports whether the gate was not reached, to six decimals.
func (s Score) Below() bool { return round6(s.Value) < round6(s.Gate) }

// Short returns the score, and the word "below" if the gate was not reached. It has no
// decimal on a scale to 100, one to 10 and two to 1. Within a hundredth of the scale around
// the gate it has one more. Below the gate it has as many as show the difference.
func (s Score) Short() string {
	digits := s.digits()
	if s.Gate > 0 && round6(math.Abs(s.Value-s.Gate)) <= s.Max/100 {
		for digits++; digits < 6 && s.Below() && plain(s.Value, digits) == plain(s.Gate, digits); {
			digits++
		}
	}
	if s.Below() {
		return plain(s.Value, digits) + " below"
	}
	return plain(s.Value, digits)
}

// String returns Short, followed by the gate if it was not reached.
func (s Score) String() string {
	if s.Below() {
		return s.Short() + " " + plain(s.Gate, s.digits())
	}
	return s.Short()
}

// digits returns the decimals of a score: 0 on a scale to 100, 1 to 10, 2 to 1.
func (s Score) digits() int { return max(0, 2-int(math.Round(math.Log10(s.Max)))) }

// Percent returns the score's share of the scale in percent, from "0.0" to "100.0".
func (s Score) Percent() string { return plain(100*min(max(s.Value/s.Max, 0), 1), 1) }

// GateAt returns the gate's share of the scale, like Percent.
func (s Score) GateAt() string { return Score{Value: s.Gate, Max: s.Max}.Percent() }

func plain(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }
func round6(x float64) float64           { return math.Round(x*1e6) / 1e6 }

const longestTitle = 300 // limit in bytes

// Of returns a page with the parts that every outcome has: status, facts, warnings, and
// unverified parts. It shares nothing with o. A run without a status is running.
func Of(team, title string, o orchestrator.Outcome) Page {
	p := Page{Team: team, Title: text.Shorten(text.OneLine(title), longestTitle), Status: Words(string(o.Status))}
	if o.Status == "" {
		p.Status = "Running"
	}
	p.Facts = []Fact{
		{"Calls", strconv.FormatInt(o.Spent.Calls, 10)},
		{"Tokens", fmt.Sprintf("%d in, %d out", o.Spent.Input, o.Spent.Output)},
		{"Cost", cost(o.Spent)},
		{"Time", o.Elapsed.Round(time.Second).String()},
	}
	p.Unverified = slices.Clone(o.Unverified)
	for _, w := range o.Warnings {
		p.Warnings = append(p.Warnings, Note{w.Who, w.Message})
	}
	return p
}

// Named replaces the IDs of members and of parts of the result by their names, in p itself,
// and returns p. It is for a page that Of has just made.
func (p Page) Named(name func(id string) string) Page {
	for i, id := range p.Unverified {
		p.Unverified[i] = name(id)
	}
	for i, w := range p.Warnings {
		p.Warnings[i].Who = name(w.Who)
	}
	return p
}

// cost returns the cost in USD; calls without a known price make it a lower bound.
func cost(u providers.Usage) string {
	usd := fmt.Sprintf("%.4f USD", float64(u.Cost)/float64(providers.USD))
	switch {
	case u.Unpriced > 0 && u.Cost == 0:
		return "unknown"
	case u.Unpriced > 0:
		return "more than " + usd
	}
	return usd
}

var spaced = strings.NewReplacer("_", " ", "-", " ")

// Words returns an identifier as people write it: "Team leader" for "team_leader".
func Words(id string) string {
	s := spaced.Replace(id)
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

//go:embed page.tmpl
var source string

const shown = 20 // number of a section's cards and of its bars that are not folded

var tmpl = template.Must(template.New("page").Funcs(template.FuncMap{
	"prose":   prose,
	"first":   headline,
	"srcdoc":  srcdoc,
	"diff":    diff,
	"initial": func(n int) int { return min(n, shown) },
	"more":    func(n int) int { return max(0, n-shown) },
}).Parse(source))

// srcdoc returns HTML as an attribute of a frame. The template cannot do it, because it
// strips tags from attributes.
func srcdoc(html string) template.HTMLAttr {
	return template.HTMLAttr(`srcdoc="` + template.HTMLEscapeString(html) + `"`) //nolint:gosec // escaped here, for a closed frame
}

// change is a line of a difference.
type change struct {
	Kind string // "added", "removed", or "place" for a header; "": unchanged
	Text string
}

// diff returns the lines of a difference in unified format, each with its kind.
func diff(s string) []change {
	var lines []change
	content := false // the first "@@" of the file was seen
	for line := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		c := change{Text: line}
		switch {
		case strings.HasPrefix(line, "diff "):
			c.Kind, content = "place", false
		case strings.HasPrefix(line, "@@"):
			c.Kind, content = "place", true
		case !content:
			c.Kind = "place"
		case strings.HasPrefix(line, "+"):
			c.Kind = "added"
		case strings.HasPrefix(line, "-"):
			c.Kind = "removed"
		}
		lines = append(lines, c)
	}
	return lines
}

// HTML returns the page as one HTML document.
func (p Page) HTML() (string, error) {
	p.Sections = slices.DeleteFunc(slices.Clone(p.Sections), func(s Section) bool {
		return s.Text+s.Frame == "" && len(s.Bars)+len(s.Cards)+len(s.Steps) == 0
	})
	var b strings.Builder
	if err := tmpl.Execute(&b, p); err != nil {
		return "", fmt.Errorf("page: %w", err)
	}
	return b.String(), nil
}
