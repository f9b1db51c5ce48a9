package flowtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

func TestDiffJSON(t *testing.T) {
	s := sides{was: "was", is: "is"}
	tests := []struct {
		name, was, is string
		want          []string
	}{
		{"equal", `{"a": 1}`, `{"a":1}`, nil},
		{"a field", `{"a":1,"b":[{"c":"x"}]}`, `{"a":1,"b":[{"c":"y"}]}`, []string{`$.b[0].c: "x" was, "y" is`}},
		{"another type", `{"a":{"b":1}}`, `{"a":[1]}`, []string{`$.a: {"b":1} was, [1] is`}},
		{"a field too few", `{"a":1,"b":null}`, `{"a":1}`, []string{`$.b: null was, nothing is`}},
		{"a field too many", `{}`, `{"odd key":1}`, []string{`$["odd key"]: nothing was, 1 is`}},
		{"lengths", `[1,2]`, `[1]`, []string{`$[1]: 2 was, nothing is`}},
		{"digits beyond a float", `10000000000000001`, `10000000000000000`, []string{`$: 10000000000000001 was, 10000000000000000 is`}},
		{"no HTML escapes", `"<a>"`, `"<b>"`, []string{`$: "<a>" was, "<b>" is`}},
		{"no JSON", `{`, `1`, []string{`$: "{" was, 1 is`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := ""
			for _, line := range tt.want {
				want += "\n\t" + line
			}
			assert.Equal(t, want, s.diffJSON([]byte(tt.was), []byte(tt.is)))
		})
	}
}

func TestDiffJSONOfLongTexts(t *testing.T) {
	long := strings.Repeat("x", 1000)
	got := resumptions.diffJSON([]byte(`"`+long+`a`+long+`"`), []byte(`"`+long+`é`+long+`"`))
	assert.Contains(t, got, "xxxax")
	assert.Contains(t, got, "xxxéx")
	assert.Less(t, len(got), 500)
}

func TestDiffShowsTwentyLines(t *testing.T) {
	var was, is []string
	for i := range 23 {
		was, is = append(was, fmt.Sprint(i)), append(is, fmt.Sprint(i+100))
	}
	got := resumptions.diffJSON([]byte("["+strings.Join(was, ",")+"]"), []byte("["+strings.Join(is, ",")+"]"))
	assert.Equal(t, 21, strings.Count(got, "\n"))
	assert.True(t, strings.HasSuffix(got, "\tand 3 more"), got)
}

func TestDiffRequests(t *testing.T) {
	ask := func(prompt string) agent.Request { return agent.Request{Prompt: prompt} }
	long := strings.Repeat("word ", 200)
	warm := 0.5
	tests := []struct {
		name    string
		was, is agent.Request
		want    string
	}{
		{"equal", ask("a\nb"), ask("a\nb"), ""},
		{"a line", ask("a\nb\nc"), ask("a\nx\nc"), "\n\t- b\n\t+ x"},
		{"two places", ask("a\nb\nc\nd"), ask("x\nb\nc\ny"), "\n\t- a\n\t+ x\n\t- d\n\t+ y"},
		{"a new line", ask("a\nc"), ask("a\nb\nc"), "\n\t+ b"},
		{"a lost line", ask("a\nb\nc"), ask("a\nc"), "\n\t- b"},
		{"limits do not count", ask("a"), agent.Request{Prompt: "a", Limits: agent.Limits{Attempts: 3}}, ""},
		{"op", ask("a"), agent.Request{Op: "test", Prompt: "a"}, "\n\t+ [op]\n\t+ test"},
		{"history", ask("a"), agent.Request{Prompt: "a", History: []providers.Message{{Role: providers.User, Text: "hi"}}}, "\n\t+ [history 0: user]\n\t+ hi"},
		{"input", agent.Request{Input: []byte(`{"a":1,"b":2}`)}, agent.Request{Input: []byte(`{"a":1,"b":3}`)}, "\n\t-   \"b\": 2\n\t+   \"b\": 3"},
		{"temperature", ask("a"), agent.Request{Prompt: "a", Temperature: &warm}, "\n\t+ [temperature]\n\t+ 0.5"},
		{"one long line", ask(long + "1"), ask(long + "2"), "\n\t- …" + (long + "1")[len(long)+1-160:] + "\n\t+ …" + (long + "2")[len(long)+1-160:]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, diffRequests(tt.was, tt.is)) })
	}
}

// What diffLines leaves out is in both texts, in order: taking the "- " lines out of
// one text gives the same as taking the "+ " lines out of the other.
func TestDiffLinesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 12)
		was, is := text.Draw(t, "was"), text.Draw(t, "is")
		var removed, added int
		for _, line := range diffLines(was, is) {
			if strings.HasPrefix(line, "- ") {
				removed++
			} else {
				added++
			}
		}
		common := commonLines(was, is)[0][0]
		assert.Equal(t, len(was)-common, removed)
		assert.Equal(t, len(is)-common, added)
	})
}
