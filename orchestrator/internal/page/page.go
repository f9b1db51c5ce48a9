// Package page makes HTML pages of what a team made: first the result and the reason for
// it, the cost and the warnings, then how it came about. A page is self-contained: it
// loads nothing and has no script. All text of agents is escaped.
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

// Page is what a page shows, from top to bottom.
type Page struct {
	Team       string // in words
	Title      string // what the team was asked for
	Status     string // in words
	Result     Card   // what was made, or that there is nothing
	Facts      []Fact
	Unverified []string // parts of the result that no gate has passed
	Warnings   []Note
	Sections   []Section
}

// Fact is a figure with its name.
type Fact struct{ Name, Value string }

// Note is a message to a person, such as a warning.
type Note struct{ Who, Text string }

// Section is a part of the page. Its Text, Bars, Cards, Steps and Frame are shown in this
// order; a section without any of them is left out. Bars and Cards after the first 20 are
// folded.
type Section struct {
	ID, Title, Note string
	Text            string
	Bars            []Bar
	Cards           []Card
	Steps           []Step
	Frame           string // HTML of an agent: shown in a frame that can run and load nothing
}

// Card is one thing that was made: the result, an idea, the work of a member.
type Card struct {
	Label string // above the title
	Title string
	Score *Score   // nil: none
	Why   string   // a sentence about how it came to be this
	Tags  []string // such as "round 2"
	Text  string
	Bars  []Bar // of its parts
	Pros  []string
	Cons  []string
	Quote *Turn // what a member says of it
	Won   bool  // it is the result, and shown as such
}

// Bar is a score as a picture.
type Bar struct {
	Name  string
	Score Score
}

// Step is a part of how it came about: a round, an iteration, a department.
type Step struct {
	Title string
	Turns []Turn
}

// Turn is what a member said or made: closed, its author and its first line are shown.
type Turn struct {
	Who   string
	What  string // such as "try 2 of 3"
	Score *Score // nil: none
	Text  string // Markdown is shown as plain paragraphs, JSON as a list

	Output string // of a program, shown after Text, verbatim
	Diff   string // in unified format, shown after them, verbatim, with marked lines
}

// Score is a score on a scale from 0 to Max, with the gate that it was to reach.
type Score struct {
	Value float64
	Gate  float64 // 0: none
	Max   float64
}

// Below tells whether the gate was not reached.
func (s Score) Below() bool { return round6(s.Value) < round6(s.Gate) }

// Short is the score with one decimal (of 100: none; of 1: two), one more within a
// hundredth of the scale around the gate, and as many as it takes to differ from the
// gate; and the word "below".
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

// String is Short, with the gate that was not reached.
func (s Score) String() string {
	if s.Below() {
		return s.Short() + " " + plain(s.Gate, s.digits())
	}
	return s.Short()
}

// digits are the decimals of a score on the scale: 1 of 10, 0 of 100, 2 of 1.
func (s Score) digits() int { return max(0, 2-int(math.Round(math.Log10(s.Max)))) }

// Percent is the score's share of the scale.
func (s Score) Percent() string { return plain(100*min(max(s.Value/s.Max, 0), 1), 1) }

// GateAt is the gate's share of the scale.
func (s Score) GateAt() string { return Score{Value: s.Gate, Max: s.Max}.Percent() }

func plain(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }
func round6(x float64) float64           { return math.Round(x*1e6) / 1e6 }

const longestTitle = 300 // bytes

// Of is a page with what every outcome has: status, cost, warnings, what is unverified.
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

// Named is a page of Of that calls members and parts of the result by their names.
func (p Page) Named(name func(id string) string) Page {
	for i, id := range p.Unverified {
		p.Unverified[i] = name(id)
	}
	for i, w := range p.Warnings {
		p.Warnings[i].Who = name(w.Who)
	}
	return p
}

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

// Words writes an identifier as people do: "team_leader" as "Team leader".
func Words(id string) string {
	s := strings.NewReplacer("_", " ", "-", " ").Replace(id)
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

//go:embed page.tmpl
var source string

const shown = 20 // of a section's cards and bars; the others are folded

var tmpl = template.Must(template.New("page").Funcs(template.FuncMap{
	"prose":   prose,
	"first":   headline,
	"srcdoc":  srcdoc,
	"diff":    diff,
	"initial": func(n int) int { return min(n, shown) },
	"more":    func(n int) int { return max(0, n-shown) },
}).Parse(source))

// srcdoc is a page as the attribute of a frame. The template cannot make it: it strips
// tags from attributes.
func srcdoc(html string) template.HTMLAttr {
	return template.HTMLAttr(`srcdoc="` + template.HTMLEscapeString(html) + `"`) //nolint:gosec // escaped here, for a closed frame
}

// change is a line of a difference.
type change struct {
	Kind string // "added", "removed", "place" for what says where; "": unchanged
	Text string
}

// diff makes lines of a difference in unified format.
func diff(s string) []change {
	var lines []change
	content := false // behind the first "@@" of a file
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

// HTML is the page.
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
