package langchain

import (
	"regexp"
	"strings"
)

// claudeModel is what a Claude model takes.
type claudeModel struct {
	maxTokens int  // what is asked for if nobody says; thoughts count
	sampling  bool // a temperature
	format    bool // a schema for the answer, in output_config
	force     bool // a tool choice that forces a tool
}

// The generations of Claude models, by the vendor's pages of November 2026.
var (
	claudeNewest   = claudeModel{maxTokens: 32_000, format: true}
	claudeAdaptive = claudeModel{maxTokens: 32_000, format: true, force: true}
	claudeTyped    = claudeModel{maxTokens: 32_000, format: true, force: true, sampling: true}
	claudeOld      = claudeModel{maxTokens: 32_000, force: true, sampling: true}
	claudeShort    = claudeModel{maxTokens: 8_192, force: true, sampling: true}
	claudeShortest = claudeModel{maxTokens: 4_096, force: true, sampling: true}
)

// claudeModels are the models that are not as the newest are. A name that is not
// here belongs to a newer model.
var claudeModels = map[string]claudeModel{
	"claude-haiku-5-5":  claudeAdaptive,
	"claude-opus-5":     claudeAdaptive,
	"claude-sonnet-5":   claudeAdaptive,
	"claude-opus-4-8":   claudeAdaptive,
	"claude-opus-4-7":   claudeAdaptive,
	"claude-opus-4-6":   claudeTyped,
	"claude-sonnet-4-6": claudeTyped,
	"claude-opus-4-5":   claudeTyped,
	"claude-sonnet-4-5": claudeTyped,
	"claude-haiku-4-5":  claudeTyped,
	"claude-opus-4-1":   claudeOld,
	"claude-opus-4-0":   claudeOld,
	"claude-opus-4":     claudeOld,
	"claude-sonnet-4-0": claudeOld,
	"claude-sonnet-4":   claudeOld,
	"claude-3-7-sonnet": claudeOld,
	"claude-3-5-sonnet": claudeShort,
	"claude-3-5-haiku":  claudeShort,
	"claude-3-opus":     claudeShortest,
	"claude-3-sonnet":   claudeShortest,
	"claude-3-haiku":    claudeShortest,
}

// claudeVersion is the end of a name that does not tell models apart.
var claudeVersion = regexp.MustCompile(`(-latest|[-@]20\d{6}.*)$`)

// claudeModelOf returns what the model of that name takes. Gateways put words
// before the name, and dots into it.
func claudeModelOf(name string) claudeModel {
	name = strings.ReplaceAll(strings.ToLower(name), ".", "-")
	if at := strings.Index(name, "claude"); at > 0 {
		name = name[at:]
	}
	if m, ok := claudeModels[claudeVersion.ReplaceAllString(name, "")]; ok {
		return m
	}
	return claudeNewest
}
