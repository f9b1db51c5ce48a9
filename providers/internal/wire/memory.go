package wire

import (
	"bytes"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Memory has what one model has refused: it is not sent again. The zero Memory is empty.
// Safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	refused map[string]string
}

// Knows says whether something was refused.
func (m *Memory) Knows(what string) bool {
	_, ok := m.Instead(what)
	return ok
}

// Instead returns what was learned with something that was refused.
func (m *Memory) Instead(of string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	other, ok := m.refused[of]
	return other, ok
}

// Learn records that something is refused and its replacement. Concurrent calls may learn
// the same.
func (m *Memory) Learn(what, instead string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refused == nil {
		m.refused = map[string]string{}
	}
	m.refused[what] = instead
}

// Forget forgets what was learned with something.
func (m *Memory) Forget(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.refused, what)
}

var (
	aboutFormat = regexp.MustCompile(`(?i)response[_ ]?(?:format|mime[_ ]?type|schema)|json_schema|output_config|output_format|text\.format|structured outputs?`)
	unsupported = regexp.MustCompile(`(?i)not (?:yet )?(?:supported|permitted|allowed|available)|(?:does|do)(?:n't| not) (?:yet )?support|` +
		`unsupported|unrecognized|unknown (?:field|name|parameter|argument)|extra inputs|deprecated|cannot be (?:set|used|specified)|not (?:a )?valid (?:field|parameter)`)
	badSchema   = regexp.MustCompile(`(?i)invalid schema|in context=`)
	badThoughts = regexp.MustCompile("(?i)(?:invalid|corrupted) [`'\"]?(?:thought[ _])?signature|bound to a different (?:conversation|model)|thinking.{0,40} blocks?.{0,80}cannot be modified|" +
		`encrypted[ _]content.{0,80}(?:could not|cannot|invalid|verif|decrypt)|[Ii]tem.{0,40}'rs_|reasoning(?:_content|_details)?['"]?.{0,20}(?:is )?(?:not supported|unsupported|not permitted)`)
	named1      = regexp.MustCompile("[`'\"]([a-z_.]+)[`'\"]")
	supportedIs = regexp.MustCompile(`(?i)supported values are:?(.*)|(?:should|must) be (?:one of|either)(.*)|expected one of(.*)`)
)

// RefusesRequest says whether a status blames the request.
func RefusesRequest(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnprocessableEntity
}

// RefusesFormat says whether s refuses the parameter for a schema, and not the
// schema.
func (s *Said) RefusesFormat() bool {
	return aboutFormat.MatchString(s.Message) && unsupported.MatchString(s.Message) && !badSchema.MatchString(s.Message)
}

// Unsupported says whether s refuses something as not supported.
func (s *Said) Unsupported() bool { return unsupported.MatchString(s.Message) }

// RefusesThoughts says whether s refuses thoughts of an earlier turn.
func (s *Said) RefusesThoughts() bool { return badThoughts.MatchString(s.Message) }

// RefusedParam returns which of the parameters that body has s refuses, "" if none.
func (s *Said) RefusedParam(body []byte, params ...string) string {
	param := s.refusedParam(params)
	name, _, _ := strings.Cut(param, ".")
	if param == "" || !bytes.Contains(body, []byte(`"`+name+`":`)) {
		return ""
	}
	return param
}

func (s *Said) refusedParam(params []string) string {
	if s.Code != "unsupported_parameter" && s.Code != "unsupported_value" && s.Code != "unknown_parameter" && !unsupported.MatchString(s.Message) {
		return ""
	}
	if slices.Contains(params, s.Param) {
		return s.Param
	}
	if s.Param != "" {
		return ""
	}
	for _, m := range named1.FindAllStringSubmatch(s.Message, -1) {
		if slices.Contains(params, m[1]) {
			return m[1]
		}
	}
	for _, p := range params {
		if regexp.MustCompile(`\b` + regexp.QuoteMeta(p) + `\b`).MatchString(s.Message) {
			return p
		}
	}
	return ""
}

// SupportedValues returns the values that s says a parameter takes.
func (s *Said) SupportedValues() []string {
	m := supportedIs.FindStringSubmatch(s.Message)
	if m == nil {
		return nil
	}
	var out []string
	for _, v := range named1.FindAllStringSubmatch(strings.Join(m[1:], ""), -1) {
		out = append(out, v[1])
	}
	return out
}

// steps are the steps of effort of all vendors, from the least to the most.
var steps = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Nearest returns the step of effort among values that is nearest to want, of two
// the lower one; "" if there is none.
func Nearest(want string, values []string) string {
	best, distance := "", len(steps)
	at := slices.Index(steps, want)
	for i, step := range steps {
		if d := max(i-at, at-i); slices.Contains(values, step) && d < distance {
			best, distance = step, d
		}
	}
	return best
}
