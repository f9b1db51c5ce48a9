package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/director/portfolio"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// program is a whole program in a page, with what it prints.
var program = regexp.MustCompile("(?s)```go\n(package main\n.*?)```\n\n```text\n(.*?)```\n")

// A page that shows a program and what it prints tells the truth.
func TestPrograms(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	run := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, found := range program.FindAllSubmatch(text, -1) {
			run++
			file := filepath.Join(t.TempDir(), "main.go")
			require.NoError(t, os.WriteFile(file, found[1], 0o600))
			out, err := exec.CommandContext(t.Context(), "go", "run", file).CombinedOutput() //nolint:gosec // of this repository
			require.NoError(t, err, "%s: %s", page, out)
			assert.Equal(t, string(found[2]), string(out), page)
		}
	}
	assert.NotZero(t, run)
}

func TestHierarchyPage(t *testing.T) {
	page, err := os.ReadFile("hierarchy.md")
	require.NoError(t, err)
	for _, machine := range []string{hierarchy.Phases().Mermaid(""), hierarchy.DepartmentPhases().Mermaid(""), hierarchy.SpecialistPhases().Mermaid("")} {
		assert.Contains(t, string(page), machine)
	}
}

func TestDeliveryPage(t *testing.T) {
	page, err := os.ReadFile("delivery.md")
	require.NoError(t, err)
	text := string(page)
	t.Run("it has every setting", func(t *testing.T) {
		config := reflect.TypeFor[delivery.Config]()
		assert.Equal(t, 7, config.NumField())
		for group := range config.Fields() {
			assert.Contains(t, text, "`"+group.Name)
			if group.Type.Kind() == reflect.Struct {
				for field := range group.Type.Fields() {
					assert.Regexp(t, "`("+group.Name+")?\\."+field.Name+"`", text)
				}
			}
		}
		for _, group := range []reflect.Type{
			reflect.TypeFor[delivery.Thresholds](), reflect.TypeFor[delivery.Ladder](), reflect.TypeFor[delivery.Shares](), reflect.TypeFor[delivery.Retries](),
		} {
			for field := range group.Fields() {
				assert.Contains(t, text, "`"+field.Name+"`")
			}
		}
	})
	t.Run("it has every event, error and warning", func(t *testing.T) {
		names := 0
		files, err := filepath.Glob("../orchestrator/delivery/*.go")
		require.NoError(t, err)
		for _, file := range files {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`(?m)^\tEvent\w+ +team\.Kind = "([^"]+)"|^\t(Err\w+) |r\.warn\(c, "([a-z-]+)"`).FindAllStringSubmatch(string(source), -1) {
				names++
				if m[3] != "" {
					m[3] = "delivery/" + m[3]
				}
				assert.Contains(t, text, "`"+m[1]+m[2]+m[3]+"`")
			}
		}
		assert.Greater(t, names, 25)
	})
	t.Run("its workspace is that of an example", func(t *testing.T) {
		isOfExample(t, text, "space, err", "../orchestrator/delivery/workspace/example_test.go")
	})
}

// isOfExample says that the snippet of a page that begins so stands in a file, which is
// compiled.
func isOfExample(t *testing.T, text, begins, file string) {
	t.Helper()
	example, err := os.ReadFile(file)
	require.NoError(t, err)
	_, snippet, _ := strings.Cut(text, "```go\n"+begins)
	snippet, _, found := strings.Cut(snippet, "```")
	require.True(t, found)
	for line := range strings.Lines(snippet) {
		assert.Contains(t, string(example), strings.TrimSpace(line))
	}
}

func TestDirectorPage(t *testing.T) {
	page, err := os.ReadFile("director.md")
	require.NoError(t, err)
	text := string(page)
	team, several, found := strings.Cut(text, "## Several projects")
	require.True(t, found)
	// part is the table or paragraph that begins so.
	part := func(text, begins string) string {
		_, text, found := strings.Cut(text, "\n"+begins)
		require.True(t, found, begins)
		text, _, _ = strings.Cut(text, "\n\n")
		return text
	}
	for _, machine := range []string{
		director.Phases().Mermaid(""), blackboard.TaskTable().Mermaid(""), blackboard.StrategyTable().Mermaid(""),
	} {
		assert.Contains(t, text, "```mermaid\n"+machine+"```\n")
	}
	t.Run("it has every setting", func(t *testing.T) {
		assert.Equal(t, 58, settings(t, part(team, "| Config |"), reflect.TypeFor[director.Config]()))
		assert.Equal(t, 13, settings(t, part(several, "| Config |"), reflect.TypeFor[portfolio.Config[string, string]]()))
	})
	t.Run("it has every end", func(t *testing.T) {
		for _, end := range director.Phases().States() {
			if director.Phases().Terminal(end) {
				assert.Contains(t, part(team, "| `Outcome.End` |"), "\n| `"+string(end)+"` | ")
			}
		}
	})
	t.Run("it has every event, error, warning, operation, input, action, failure, escalation and verdict", func(t *testing.T) {
		for _, of := range []struct {
			files, pattern, text string
			least                int
		}{
			{"director/*.go", `(?m)^\t[Ee]vent\w+ +team\.Kind = "([^"]+)"`, part(team, "| kind |"), 24},
			{"director/*.go", `(?m)^\t(Err\w+) += agent\.Code`, part(team, "| `Outcome.End` |"), 7},
			{"director/*.go", `r\.warn\(c, "([a-z-]+)"`, part(team, "Warnings have the code `director/`"), 15},
			{"director/*.go", `(?m)^\t(?:op[A-Z]|Op)\w+ += "([^"]+)"`, part(team, "| role |"), 10},
			{"director/trees/*.go", `(?m)^\tOp\w+ += "([^"]+)"`, part(team, "| role |"), 6},
			{"director/inputs.go", `(?m)^type ([A-Z]\w*Input) struct`, part(team, "| role |"), 5},
			{"director/answers.go", `(?m)^\tAction\w+ += "([^"]+)"`, part(team, "| question |"), 7},
			{"director/guardian.go", `(?m)^\t(?:onTrack|recovering|drifting|inCircles|stalled) += "([^"]+)"`, part(team, "| verdict |"), 5},
			{"../blackboard/task.go", `(?m)^\t\w+ +FailureKind = "([^"]+)"`, part(team, "| failure |"), 8},
			{"../blackboard/task.go", `(?m)^\t\w+ +EscalationType = "([^"]+)"`, part(team, "| escalation |"), 6},
			{"director/portfolio/*.go", `(?m)^\t[eE]vent\w+ +team\.Kind = "([^"]+)"`, several, 5},
			{"director/portfolio/*.go", `r\.Warn\(c, r\.Code\("([a-z-]+)"`, several, 4},
			{"director/portfolio/*.go", `(?m)^\t(Err\w+) += agent\.Code`, several, 3},
		} {
			names := 0
			files, err := filepath.Glob("../orchestrator/" + of.files)
			require.NoError(t, err)
			for _, file := range files {
				source, err := os.ReadFile(file)
				require.NoError(t, err)
				for _, m := range regexp.MustCompile(of.pattern).FindAllStringSubmatch(string(source), -1) {
					names++
					assert.Contains(t, of.text, "`"+m[1]+"`", of.pattern)
				}
			}
			assert.GreaterOrEqual(t, names, of.least, of.pattern)
		}
	})
	t.Run("its snippets are those of examples", func(t *testing.T) {
		isOfExample(t, text, "bench, err", "../orchestrator/director/workbench/example_test.go")
		isOfExample(t, text, "flow, err := portfolio", "../orchestrator/director/portfolio/example_test.go")
	})
}

// settings says that each field of a Config has a row in the table, with its name in JSON
// where it has one, and counts them.
func settings(t *testing.T, table string, config reflect.Type) (n int) {
	t.Helper()
	var group func(name string, t reflect.Type)
	group = func(name string, config reflect.Type) {
		for field := range config.Fields() {
			path, of := field.Name, field.Type
			if name != "" {
				path = name + `\.([^|]*` + "`" + `\.)?` + field.Name
			}
			switch {
			case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Struct:
				group(path+`\[\]`, of.Elem())
				continue
			case of.Kind() == reflect.Struct && field.Name != "Work":
				group(strings.TrimPrefix(name+`\.`+field.Name, `\.`), of)
				continue
			}
			n++
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if key == "-" || key == "" {
				key = ""
			} else {
				key = "[^|]*`" + key + "`"
			}
			assert.Regexp(t, "(?m)^\\| [^|]*`"+path+"`[^|]*\\|"+key, table)
		}
	}
	group("", config)
	return n
}

// The steps of writing-a-team.md are the program that it builds, and its test.
func TestStepsOfATeam(t *testing.T) {
	page, err := os.ReadFile("writing-a-team.md")
	require.NoError(t, err)
	_, steps, found := strings.Cut(string(page), "## A team on the kernel")
	require.True(t, found)
	steps, _, found = strings.Cut(steps, "### ")
	require.True(t, found)
	var program string
	for _, file := range []string{"main.go", "team_test.go", "prompts/write.tmpl"} {
		text, err := os.ReadFile(filepath.Join("..", "examples", "team", file))
		require.NoError(t, err)
		program += string(text)
		if file == "main.go" {
			assert.LessOrEqual(t, strings.Count(program, "\n"), 120, "lines of a whole team")
		}
	}
	blocks := regexp.MustCompile("(?s)```(?:go|text)\n(.*?)```").FindAllStringSubmatch(steps, -1)
	assert.Len(t, blocks, 8)
	for _, block := range blocks {
		assert.Contains(t, program, block[1])
	}
}
