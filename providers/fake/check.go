package fake

import (
	"errors"
	"fmt"
	"strings"

	"github.com/convene-go/convene/providers"
)

// Check returns nil if all scripted answers were used and no other call was made, else
// an error that lists the unexpected calls and the unused answers. With a T it need not
// be called.
func (m *Model) Check() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := append([]string{}, m.unexpected...)
	lines = append(lines, m.unused()...)
	if len(lines) == 0 {
		return nil
	}
	return errors.New("fake model: " + strings.Join(lines, "\n"))
}

// end fails the test for unused answers. Later calls are not reported, because a test
// must not be failed after its end.
func (m *Model) end(t T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.t = nil
	t.Helper()
	for _, line := range m.unused() {
		t.Errorf("fake model: %s", line)
	}
}

// unused describes the answers of the script that no call has used.
func (m *Model) unused() []string {
	var lines []string
	if n := len(m.turns) - m.taken; n > 0 {
		lines = append(lines, fmt.Sprintf("%d of %d answers were never asked for; the next one is %s",
			n, len(m.turns), m.turns[m.taken]))
	}
	for _, r := range m.rules {
		if r.Times > r.used {
			lines = append(lines, fmt.Sprintf("answers were never asked for: %s", r))
		}
	}
	return lines
}

// describeCall describes the n-th call.
func describeCall(n int, req providers.Request) string {
	last := lastMessage(req)
	if last.Role == "" {
		return fmt.Sprintf("unexpected call %d: no messages", n)
	}
	return fmt.Sprintf("unexpected call %d: last message is %s: %q", n, last.Role, short(last.Text))
}

// describeOrigin describes what o has of a call, behind that word; "": it has nothing.
func describeOrigin(word string, o providers.Origin) string {
	var has []string
	if o.Op != "" {
		has = append(has, fmt.Sprintf("op %q", o.Op))
	}
	if o.Task != "" {
		has = append(has, fmt.Sprintf("task %q", o.Task))
	}
	if o.Attempt != 0 {
		has = append(has, fmt.Sprintf("attempt %d", o.Attempt))
	}
	if len(has) == 0 {
		return ""
	}
	return word + " " + strings.Join(has, ", ")
}

// describeScript says why no answer fits a call.
func (m *Model) describeScript() string {
	lines := []string{fmt.Sprintf("all %d answers in turn are used", len(m.turns))}
	for _, r := range m.rules {
		lines = append(lines, r.String())
	}
	return strings.Join(lines, "\n\t")
}

// String describes an answer in reports.
func (a Answer) String() string {
	switch {
	case a.From != nil:
		return "one made of the request"
	case a.Hang:
		return "a hang"
	case a.Err != nil:
		return fmt.Sprintf("the error %q", short(a.Err.Error()))
	case len(a.ToolCalls) > 0:
		return "a call of tool " + a.ToolCalls[0].Name
	}
	return fmt.Sprintf("the text %q", short(a.response().Text))
}

func short(text string) string {
	const limit = 200 // runes
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit]) + "..."
	}
	return text
}
