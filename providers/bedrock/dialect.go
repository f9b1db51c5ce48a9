package bedrock

import (
	"regexp"
	"strconv"
	"strings"
)

// dialectOf returns how the model with that ID, or ARN, is asked.
func dialectOf(id string) dialect {
	if !strings.Contains(id, "anthropic.") {
		return converse{}
	}
	version := versionOf(id)
	for _, g := range generations {
		if version >= g.since {
			return claude{g}
		}
	}
	panic("bedrock: a version below 0") // impossible
}

// generation is what Anthropic's models have in common since a version.
type generation struct {
	since       int // as versionOf returns it
	forced      bool
	temperature bool
	maxTokens   int // for requests that say none
}

// generations are the models of Anthropic, the newest first.
var generations = []generation{
	{since: 501, forced: false, temperature: false, maxTokens: 16384},
	{since: 407, forced: true, temperature: false, maxTokens: 16384},
	{since: 307, forced: true, temperature: true, maxTokens: 16384},
	{since: 0, forced: true, temperature: true, maxTokens: 4096},
}

// unnumbered is the version of models that have none in their names. It is that of
// the newest: what they cannot be made to do, all others can be told as well.
const unnumbered = 1 << 20

var claudeVersion = regexp.MustCompile(`claude-(?:[a-z]+-)?v?([0-9]{1,2})(?:[.-]([0-9]{1,2}))?(?:[^0-9]|$)`)

// versionOf returns 100 times the first number of a Claude's name and the second
// one: 305 of claude-3-5-sonnet-20240620-v1:0, 400 of claude-opus-4-20250514-v1:0.
func versionOf(id string) int {
	m := claudeVersion.FindStringSubmatch(id)
	if m == nil {
		return unnumbered
	}
	major, _ := strconv.Atoi(m[1]) // digits
	minor, _ := strconv.Atoi(m[2]) // or none
	return 100*major + minor
}
