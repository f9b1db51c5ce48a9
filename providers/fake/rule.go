package fake

import (
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/providers"
)

// Rule answers the calls that match all its set fields, in any order. The zero Rule
// matches every call and answers an empty text.
type Rule struct {
	Op      string // operation that the agent is asked for, as in providers.Origin; "": any
	Task    string // task or step that the call is for, as in providers.Origin; "": any
	Attempt int    // attempt of the call, from 1, as in providers.Origin; 0: any

	Role   providers.Role               // role of the last message; "": any
	Text   string                       // part of the last message; "": any
	System string                       // part of a system message, which tells agents apart; "": any
	Match  func(providers.Request) bool // nil: any; must not use the Model, nor keep or change the request

	// Times is how many calls it answers. Fewer calls fail the test; after that many it
	// no longer matches. 0: any number, also none.
	Times int

	Answer Answer // answer to requests that fit

	// Answers are given in order, instead of Answer: Times is their number.
	Answers []Answer
}

// rule is a Rule in use.
type rule struct {
	Rule
	used int
}

func newRule(r Rule) *rule {
	r.Answer = r.Answer.clone()
	r.Answers = slices.Clone(r.Answers)
	for i, a := range r.Answers {
		r.Answers[i] = a.clone()
	}
	if len(r.Answers) > 0 {
		r.Times = len(r.Answers)
	}
	return &rule{Rule: r}
}

func (r *rule) usedUp() bool { return r.Times > 0 && r.used >= r.Times }

// take returns the answer to the next call.
func (r *rule) take() Answer {
	r.used++
	if len(r.Answers) == 0 {
		return r.Answer
	}
	return r.Answers[r.used-1]
}

func (r *rule) matches(o providers.Origin, req providers.Request) bool {
	last := lastMessage(req)
	return (r.Op == "" || r.Op == o.Op) &&
		(r.Task == "" || r.Task == o.Task) &&
		(r.Attempt == 0 || r.Attempt == o.Attempt) &&
		(r.Role == "" || r.Role == last.Role) &&
		strings.Contains(last.Text, r.Text) &&
		(r.System == "" || saysSystem(req, r.System)) &&
		(r.Match == nil || r.Match(req))
}

func saysSystem(req providers.Request, text string) bool {
	for _, m := range req.Messages {
		if m.Role == providers.System && strings.Contains(m.Text, text) {
			return true
		}
	}
	return false
}

// String names the rule in reports.
func (r *rule) String() string {
	var b strings.Builder
	b.WriteString("rule")
	b.WriteString(describeOrigin(" for", providers.Origin{Op: r.Op, Task: r.Task, Attempt: r.Attempt}))
	if r.Role != "" {
		fmt.Fprintf(&b, " for a message of role %s", r.Role)
	}
	if r.System != "" {
		fmt.Fprintf(&b, " under the instructions %q", r.System)
	}
	if r.Text != "" {
		fmt.Fprintf(&b, " with the text %q", r.Text)
	}
	if r.Match != nil {
		b.WriteString(" with a Match")
	}
	fmt.Fprintf(&b, ", used %d times", r.used)
	if r.Times > 0 {
		fmt.Fprintf(&b, " of %d", r.Times)
	}
	return b.String()
}

func lastMessage(req providers.Request) providers.Message {
	if len(req.Messages) == 0 {
		return providers.Message{}
	}
	return req.Messages[len(req.Messages)-1]
}
