package research

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Brief is what is wanted (R33). Only Topic is required; a zero field is the default.
type Brief struct {
	RequestID        string            `json:"request_id,omitempty"`        // the host's; it comes back in the Output
	Topic            string            `json:"topic"`                       // 1 to 500 characters
	ContentType      string            `json:"content_type,omitempty"`      // one of ContentTypes; "article"
	Length           int               `json:"length,omitempty"`            // words, 500 to 10,000; 2,000
	Tone             string            `json:"tone,omitempty"`              // one of Tones; "professional"
	Depth            string            `json:"depth,omitempty"`             // one of Depths; "standard"
	MinSources       int               `json:"min_sources,omitempty"`       // 1 to 50; 10, or 5 if Depth is "light"
	PreferredSources []string          `json:"preferred_sources,omitempty"` // such as "academic" (R42)
	MinQuality       *float64          `json:"min_quality,omitempty"`       // 0 to 1; 0.80 (R34)
	MaxBudget        providers.NanoUSD `json:"max_budget,omitempty"`        // 0.50 to 50 USD; 5 USD
	MaxTime          time.Duration     `json:"max_time,omitempty"`          // 1 minute to 2 hours, in nanoseconds; no limit
}

// What some fields of a Brief may be. The first of Tones is the default.
var (
	ContentTypes = []string{"article", "blog_post", "research_report", "tutorial", "documentation", "summary"}
	Tones        = []string{"professional", "casual", "academic", "technical", "conversational"}
	Depths       = []string{"light", "standard", "deep"}
)

// ErrRejected says that a brief was not admitted: no run was started (R30-R32).
const ErrRejected = agent.Code("research/rejected")

// withDefaults fills in what b leaves open (R34, R35).
func (b Brief) withDefaults() Brief {
	b.ContentType = or(b.ContentType, ContentTypes[0])
	b.Tone = or(b.Tone, Tones[0])
	b.Depth = or(b.Depth, "standard")
	b.Length = or(b.Length, 2000)
	b.MaxBudget = or(b.MaxBudget, 5*providers.USD)
	if b.MinSources == 0 {
		b.MinSources = 10
		if b.Depth == "light" {
			b.MinSources = 5
		}
	}
	quality := 0.80
	if b.MinQuality != nil {
		quality = *b.MinQuality
	}
	b.MinQuality = &quality
	b.PreferredSources = slices.Clone(b.PreferredSources)
	return b
}

func or[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// Validate returns every fault of b joined into one error, or nil: what is missing,
// out of range, or contradicts itself (R31, R35, RC6). Each names its field. A zero
// field stands for its default.
func (b Brief) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch n := utf8.RuneCountInString(b.Topic); {
	case strings.TrimSpace(b.Topic) == "":
		bad("topic is missing")
	case n > 500 || !utf8.ValidString(b.Topic):
		bad("topic has %d characters, want a text of 1 to 500", n)
	}
	b = b.withDefaults()
	for _, f := range []struct {
		name, value string
		known       []string
	}{{"content_type", b.ContentType, ContentTypes}, {"tone", b.Tone, Tones}, {"depth", b.Depth, Depths}} {
		if !slices.Contains(f.known, f.value) {
			bad("%s is %q, want one of %q", f.name, f.value, f.known)
		}
	}
	if b.Length < 500 || b.Length > 10_000 {
		bad("length is %d words, want 500 to 10,000", b.Length)
	}
	if b.MinSources < 1 || b.MinSources > 50 {
		bad("min_sources is %d, want 1 to 50", b.MinSources)
	}
	if b.Depth == "light" && b.MinSources > 12 && b.MinSources <= 50 {
		bad("min_sources is %d, which contradicts depth \"light\": want at most 12, or more depth", b.MinSources)
	}
	if q := *b.MinQuality; !(q >= 0 && q <= 1) { // also refuses NaN
		bad("min_quality is %v, want 0 to 1", q)
	}
	if b.MaxBudget < providers.USD/2 || b.MaxBudget > 50*providers.USD {
		bad("max_budget is %s USD, want 0.50 to 50", usd(b.MaxBudget))
	}
	if b.MaxTime != 0 && (b.MaxTime < time.Minute || b.MaxTime > 2*time.Hour) {
		bad("max_time is %v, want 1m to 2h", b.MaxTime)
	}
	return errors.Join(errs...)
}

func usd(n providers.NanoUSD) string { return fmt.Sprintf("%.2f", float64(n)/float64(providers.USD)) }
