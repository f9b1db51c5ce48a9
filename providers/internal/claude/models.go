package claude

import (
	"regexp"
	"strings"

	"github.com/convene-go/convene/providers"
)

// Model is what a Claude model takes.
type Model struct {
	MaxTokens int  // the default; thoughts count
	Sampling  bool // a temperature
	Format    bool // a schema for the answer, in output_config
	Force     bool // a tool choice that forces a tool
	Midway    bool // a system message after others
	thinks    thinks
}

// thinks says how a model is told to think.
type thinks int

const (
	never      thinks = iota // it does not
	byBudget                 // it is given a number of tokens
	byEffort                 // it is told an effort
	ifAsked                  // it is told to, and an effort
	unlessTold               // it does by itself, and takes an effort
	always                   // it thinks, and cannot be told not to
)

// The generations of Claude models, by the vendor's pages of November 2026.
var (
	newest   = Model{MaxTokens: 32_000, Format: true, Midway: true, thinks: always}
	haiku5   = Model{MaxTokens: 32_000, Format: true, Midway: true, Force: true, thinks: always}
	five     = Model{MaxTokens: 32_000, Format: true, Midway: true, Force: true, thinks: unlessTold}
	opus48   = Model{MaxTokens: 32_000, Format: true, Midway: true, Force: true, thinks: ifAsked}
	adaptive = Model{MaxTokens: 32_000, Format: true, Force: true, thinks: ifAsked}
	typedNew = Model{MaxTokens: 32_000, Format: true, Force: true, Sampling: true, thinks: ifAsked}
	opus45   = Model{MaxTokens: 32_000, Format: true, Force: true, Sampling: true, thinks: byEffort}
	typedOld = Model{MaxTokens: 32_000, Format: true, Force: true, Sampling: true, thinks: byBudget}
	old      = Model{MaxTokens: 32_000, Force: true, Sampling: true, thinks: byBudget}
	short    = Model{MaxTokens: 8_192, Force: true, Sampling: true}
	shortest = Model{MaxTokens: 4_096, Force: true, Sampling: true}
)

// models are those that differ from the newest. Unknown names belong to newer models.
var models = map[string]Model{
	"claude-haiku-5-5":  haiku5,
	"claude-opus-5":     five,
	"claude-sonnet-5":   five,
	"claude-opus-4-8":   opus48,
	"claude-opus-4-7":   adaptive,
	"claude-opus-4-6":   typedNew,
	"claude-sonnet-4-6": typedNew,
	"claude-opus-4-5":   opus45,
	"claude-sonnet-4-5": typedOld,
	"claude-haiku-4-5":  typedOld,
	"claude-opus-4-1":   old,
	"claude-opus-4-0":   old,
	"claude-opus-4":     old,
	"claude-sonnet-4-0": old,
	"claude-sonnet-4":   old,
	"claude-3-7-sonnet": old,
	"claude-3-5-sonnet": short,
	"claude-3-5-haiku":  short,
	"claude-3-opus":     shortest,
	"claude-3-sonnet":   shortest,
	"claude-3-haiku":    shortest,
	"claude-instant":    shortest,
	"claude":            shortest, // v2
}

// version matches the end of a name that does not distinguish models.
var version = regexp.MustCompile(`(-latest|[-@]20\d{6}.*|-v\d+(:.*)?)$`)

// ModelOf returns the features of the model of that name. Gateways and Bedrock put words
// and dots before the name.
func ModelOf(name string) Model {
	name = strings.ReplaceAll(strings.ToLower(name), ".", "-")
	if at := strings.Index(name, "claude"); at > 0 {
		name = name[at:]
	}
	if m, ok := models[version.ReplaceAllString(name, "")]; ok {
		return m
	}
	return newest
}

// thinking is the part of a request about thinking.
type thinking struct {
	Thinking *thinkingMode
	Effort   string
}

type thinkingMode struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens,omitempty"`
}

// budgets are tokens by effort.
var budgets = map[providers.Effort]int{
	providers.EffortMinimal: 1_024, providers.EffortLow: 4_096, providers.EffortMedium: 10_000,
	providers.EffortHigh: 20_000, providers.EffortMax: 30_000,
}

// think returns the parameters for an effort, within maxTokens for thoughts and answer. A
// model that is forced to call a tool cannot be given a budget.
func (m Model) think(e providers.Effort, maxTokens int, to *choice) thinking {
	forced := to != nil && (to.Type == "any" || to.Type == "tool")
	word := string(e)
	switch e { //nolint:exhaustive // the others are their own words
	case "":
		return thinking{}
	case providers.EffortMinimal:
		word = "low"
	case providers.EffortMax:
		if m.thinks == byEffort {
			word = "high"
		}
	}
	none := e == providers.EffortNone
	switch {
	case none && m.thinks == unlessTold:
		return thinking{Thinking: &thinkingMode{Type: "disabled"}}
	case none && m.thinks == always:
		return thinking{Effort: "low"}
	case none, m.thinks == never:
		return thinking{}
	case m.thinks == byBudget:
		budget := min(budgets[e], maxTokens/2)
		if forced || budget < budgets[providers.EffortMinimal] { // the least that there is
			return thinking{}
		}
		return thinking{Thinking: &thinkingMode{Type: "enabled", Budget: budget}}
	case m.thinks == ifAsked && !forced:
		return thinking{Thinking: &thinkingMode{Type: "adaptive"}, Effort: word}
	}
	return thinking{Effort: word}
}
