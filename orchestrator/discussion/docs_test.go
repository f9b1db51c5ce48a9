package discussion_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/discussion"
)

const manual = "../../docs/discussion.md"

func TestManual(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(manual)
	require.NoError(t, err)
	text := string(data)
	block := func(kind string) string {
		_, rest, ok := strings.Cut(text, "```"+kind+"\n")
		require.True(t, ok, kind)
		inner, _, _ := strings.Cut(rest, "```")
		return inner
	}
	t.Run("its machine is that of the package", func(t *testing.T) {
		if *update {
			text = strings.Replace(text, block("mermaid"), discussion.Phases().Mermaid(""), 1)
			require.NoError(t, os.WriteFile(manual, []byte(text), 0o644))
		}
		assert.Equal(t, discussion.Phases().Mermaid(""), block("mermaid"))
	})
	t.Run("DC39 its team of two critics, a security officer and a CFO is a Config of 20 lines", func(t *testing.T) {
		var cfg discussion.Config
		require.NoError(t, json.Unmarshal([]byte(block("json")), &cfg))
		assert.LessOrEqual(t, strings.Count(block("json"), "\n"), 20)
		p := debate{cfg: cfg}.play(t)
		require.NoError(t, p.err)
		for _, id := range []string{"critic-1", "critic-2", "security officer", "cfo"} {
			assert.Contains(t, p.authors(), id)
		}
	})
	t.Run("it has every setting, status, warning and event", func(t *testing.T) {
		var names []string
		var walk func(prefix string, of reflect.Type)
		walk = func(prefix string, of reflect.Type) {
			for f := range of.Fields() {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				switch {
				case name == "-" && prefix == "rules.":
					names = append(names, "`Rules."+f.Name+"`")
					continue
				case name == "-":
					name = f.Name
				case f.Type.Kind() == reflect.Struct:
					walk(name+".", f.Type)
					continue
				case f.Type == reflect.TypeFor[[]discussion.Member]():
					walk("", f.Type.Elem())
				}
				names = append(names, "`"+prefix+name+"`")
			}
		}
		walk("", reflect.TypeFor[discussion.Config]())
		for _, phase := range []discussion.Phase{"completed", "partial", "out-of-budget", "canceled", "failed"} {
			names = append(names, "`"+string(phase)+"`")
		}
		files, err := filepath.Glob("*.go")
		require.NoError(t, err)
		for _, file := range files {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`r\.Code\("([^"]+)"\)`).FindAllStringSubmatch(string(source), -1) {
				names = append(names, "`discussion/"+m[1]+"`")
			}
			for _, m := range regexp.MustCompile(`(?m)^\tEvent\w+\s+team\.Kind = "([^"]+)"|^\t(Err\w+)`).FindAllStringSubmatch(string(source), -1) {
				names = append(names, "`"+m[1]+m[2]+"`")
			}
		}
		assert.Greater(t, len(names), 60)
		for _, name := range names {
			assert.True(t, strings.Contains(text, name), name)
		}
	})
	t.Run("the package comment has every prompt and its fields", func(t *testing.T) {
		source, err := os.ReadFile("doc.go")
		require.NoError(t, err)
		files, err := os.ReadDir("prompts")
		require.NoError(t, err)
		require.Len(t, files, 14)
		for _, f := range files {
			assert.Contains(t, string(source), "//\t"+f.Name()+" ")
			body, err := os.ReadFile(filepath.Join("prompts", f.Name()))
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`\.[A-Z]\w+`).FindAllString(string(body), -1) {
				if m != ".Title" {
					assert.Contains(t, string(source), "//\t"+m+" ")
				}
			}
		}
	})
}

func TestStateIsExposed(t *testing.T) {
	t.Run("D6 what a host sees during a run", func(t *testing.T) {
		p := debate{cfg: discussion.Full(nil)}.play(t)
		var last struct{ State discussion.State }
		require.NoError(t, json.Unmarshal(p.log[len(p.log)-1].Data, &last))
		assert.Equal(t, discussion.State{Phase: "completed", Round: 3, Rounds: 3, Messages: 25, Ideas: 5, Best: "Game night"}, last.State)
		cfg := discussion.Full(nil)
		assert.Equal(t, discussion.State{
			Phase: "exploring", Round: 1, Rounds: 3, Speaking: critic, Messages: 3, Ideas: 5,
		}, stateAt(t, cfg, discussion.Critic))
	})
}
