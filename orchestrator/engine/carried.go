package engine

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Secret has the texts of a run that must not be shown, by name. They are in the Started
// record, for agents: a store that encrypts protects them at rest. What prints or logs a
// Secret shows "[secret]"; its JSON is for the log, and has the texts.
type Secret struct {
	Labels   map[string]string `json:"labels,omitempty"`   // texts of labels whose text in Input.Labels is "[secret]"; nil: none
	Values   map[string]string `json:"values,omitempty"`   // texts that are not in Input.Values; nil: none
	Withheld bool              `json:"withheld,omitempty"` // the log is a copy without its secrets: it shows the run, and resumes nothing
}

// Format implements [fmt.Formatter]: no verb prints a text.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(text.Secret)) }

// LogValue implements [slog.LogValuer]: a log has no text.
func (s Secret) LogValue() slog.Value { return slog.StringValue(text.Secret) }

// Hide moves the texts of those names from Labels and Values into Secret. It replaces the
// maps that it changes. Names that are in neither are ignored.
func (in *Input) Hide(names []string) {
	for _, name := range names {
		if label, ok := in.Labels[name]; ok {
			in.Labels, in.Secret.Labels = with(in.Labels, name, text.Secret), with(in.Secret.Labels, name, label)
		}
		if value, ok := in.Values[name]; ok {
			in.Secret.Values = with(in.Secret.Values, name, value)
			in.Values = maps.Clone(in.Values)
			delete(in.Values, name)
		}
	}
}

// with returns a copy of m with that text under name.
func with(m map[string]string, name, text string) map[string]string {
	out := map[string]string{name: text}
	for k, v := range m {
		if k != name {
			out[k] = v
		}
	}
	return out
}

// Carry gives in, the input of a child, the Labels and Values of the run around it.
func (in *Input) Carry(around *Input) {
	in.Labels, in.Values, in.Secret = around.Labels, around.Values, around.Secret
}

// Carried returns the Values and Labels that agents of the run get in their agent.Info.
func (in *Input) Carried() (values, labels agent.Values) {
	return whole(in.Values, in.Secret.Values), whole(in.Labels, in.Secret.Labels)
}

// whole returns Values of shown texts and secret ones, which count where both have a name.
func whole(shown, secret map[string]string) agent.Values {
	if len(secret) == 0 {
		return agent.NewValues(shown)
	}
	all := maps.Clone(secret)
	for name, value := range shown {
		if _, ok := secret[name]; !ok {
			all[name] = value
		}
	}
	return agent.NewValues(all, slices.Collect(maps.Keys(secret))...)
}

// sameNames reports whether a and b have the same keys.
func sameNames(a, b map[string]string) bool {
	return slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
}
