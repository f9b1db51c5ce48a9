package orchestrator

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// StartOptions say how a run starts. The zero value is a new ID and no limit.
//
// Labels and Values reach every agent of the run, as agent.Info, and every child of it.
// Labels are for lists: runs are found by them, and engines pinned by them. Values are for
// agents: at most 32, each with a name of up to 64 letters, digits and "-_.:/", and a text
// of up to 1,024 bytes of UTF-8. Neither is in a prompt, nor in the hash of a request.
//
// The texts of Secret names are in the log and reach agents. Lists, Info, what is printed
// or logged, and an export show "[secret]" in their place, and no search finds them. A
// secret label pins its run to no engine of Fleet.Serves that has a value for it. The JSON
// form of StartOptions has the texts.
type StartOptions struct {
	ID            string            // ID of up to 128 letters, digits, ".", "-", "_"; "": a new one
	Budget        Budget            // limits of the whole run; zero: none
	Labels        map[string]string // labels that the host gives the run, shown in Info; nil: none
	Values        map[string]string // small texts for its agents, such as a tenant or a trace's ID; nil: none
	Secret        []string          // names of Labels and Values whose texts must not be shown; nil: none
	ContinuedFrom string            // ended run that this one continues, which links the logs; "": none
}

// The limits of StartOptions.Values.
const (
	mostValues = 32
	mostText   = 1024 // bytes of one text
)

// validName matches the name of a value.
var validName = regexp.MustCompile(`^[a-zA-Z0-9_.:/-]{1,64}$`)

// shown returns o as it may be printed.
func (o StartOptions) shown() map[string]any {
	in := engine.Input{Labels: o.Labels, Values: o.Values}
	in.Hide(o.Secret)
	values, labels := in.Carried()
	return map[string]any{"id": o.ID, "budget": o.Budget, "labels": labels, "values": values, "continuedFrom": o.ContinuedFrom}
}

// Format implements [fmt.Formatter]: no verb prints a secret text.
func (o StartOptions) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, o.shown()) }

// LogValue implements [slog.LogValuer]: a log has no secret text.
func (o StartOptions) LogValue() slog.Value { return slog.AnyValue(o.shown()) }

// input is what a run starts from by o, without its data. Every fault of Values and Secret
// is in the error, and no text of a secret one.
func (o StartOptions) input() (engine.Input, error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("StartOptions."+format, args...)) }
	if len(o.Values) > mostValues {
		bad("Values has %d entries, want at most %d", len(o.Values), mostValues)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Values)) {
		if !validName.MatchString(name) {
			bad(`Values has the name %q: want up to 64 letters, digits and "-_.:/"`, text.Shorten(name, 64))
		}
		if value := o.Values[name]; len(value) > mostText || !utf8.ValidString(value) {
			bad("Values[%q] has %d bytes: want at most %d, of valid UTF-8", text.Shorten(name, 64), len(value), mostText)
		}
	}
	for i, name := range o.Secret {
		_, isLabel := o.Labels[name]
		if _, isValue := o.Values[name]; !isLabel && !isValue {
			bad("Secret[%d] is %q: want the name of a label or a value", i, text.Shorten(name, 64))
		}
	}
	in := engine.Input{Run: o.ID, Budget: o.Budget, Labels: o.Labels, Values: o.Values, ContinuedFrom: o.ContinuedFrom}
	in.Hide(o.Secret)
	if err := errors.Join(errs...); err != nil {
		return in, agent.ErrorOf(fmt.Errorf("%w: %w", ErrMalformed, err))
	}
	return in, nil
}
