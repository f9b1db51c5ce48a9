package agent

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/convene-go/convene/internal/text"
)

// Values are small texts by name that a host gives to a run, such as its tenant or the ID
// of a trace: every agent of the run and of its children reads them. Some are secret: Get
// returns them like the others, but what prints, logs or encodes Values shows "[secret]"
// in their place.
//
// The zero Values have no names. Values never change, and are safe for concurrent use.
type Values struct{ kept *keptValues }

// keptValues are the texts of Values.
type keptValues struct {
	texts  map[string]string
	secret map[string]bool
}

// NewValues returns Values of texts by name, for tests of agents and for authors of
// engines. The names in secret are those whose texts must not be shown. It copies texts.
func NewValues(texts map[string]string, secret ...string) Values {
	if len(texts) == 0 {
		return Values{}
	}
	kept := &keptValues{texts: maps.Clone(texts), secret: map[string]bool{}}
	for _, name := range secret {
		kept.secret[name] = true
	}
	return Values{kept}
}

// Get returns the text of that name, also a secret one; "": there is none.
func (v Values) Get(name string) string {
	if v.kept == nil {
		return ""
	}
	return v.kept.texts[name]
}

// Names returns all names in order, secret ones too; nil: there are none.
func (v Values) Names() []string {
	if v.kept == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(v.kept.texts))
}

// Secret reports whether the text of that name must not be shown.
func (v Values) Secret(name string) bool { return v.kept != nil && v.kept.secret[name] }

// Shown returns a copy of the texts by name, with "[secret]" for each secret one. It is
// never nil.
func (v Values) Shown() map[string]string {
	shown := map[string]string{}
	for _, name := range v.Names() {
		shown[name] = v.kept.texts[name]
		if v.kept.secret[name] {
			shown[name] = text.Secret
		}
	}
	return shown
}

// String returns the names and what may be shown of their texts.
func (v Values) String() string { return fmt.Sprint(v.Shown()) }

// Format implements [fmt.Formatter]: each verb prints what String returns.
func (v Values) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(v.String())) }

// LogValue implements [slog.LogValuer]: a log has what may be shown.
func (v Values) LogValue() slog.Value { return slog.AnyValue(v.Shown()) }

// MarshalJSON encodes what may be shown.
func (v Values) MarshalJSON() ([]byte, error) { return json.Marshal(v.Shown()) }
