package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres/pgtest"
)

// growing is what the README's programs on a store have around them: imports, the flow
// and the blocks of the README.
const growing = `package main

import (
	"context"
	"fmt"
	"log"
	"sync/atomic"
%s
	o "github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

%s
var calls atomic.Int64

func counted(f agent.Func) agent.Func {
	return func(ctx context.Context, r agent.Request) (agent.Response, error) {
		calls.Add(1)
		return f(ctx, r)
	}
}

func main() {
	ctx := context.Background()
	agents := agent.Roster{"writer": counted(writer), "critic": counted(critic)}
%s
	fmt.Printf("%%s (%%d calls)\n", out.Value, calls.Load())
	if err := eng.Close(ctx); err != nil {
		log.Fatal(err)
	}
}
`

// packages are those that the README's blocks on stores need beside these.
var packages = []string{
	"os",
	"github.com/convene-go/convene/blackboard/runlog",
	"github.com/convene-go/convene/blackboard/sqlite",
	"github.com/convene-go/convene/blackboard/postgres",
	"github.com/jackc/pgx/v5/pgxpool",
}

// section is the part of the README under that heading.
func section(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(page), "\n## "+heading+"\n")
	require.True(t, ok, "README.md has no section %q", heading)
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// blocks are the blocks of code of that language in a text.
func blocks(text, language string) (found []string) {
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

// assemble makes a program of blocks. The errors that they leave to the reader end it.
func assemble(t *testing.T, code string) string {
	t.Helper()
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	flow := string(source)
	flow = flow[strings.Index(flow, "var hello = "):strings.Index(flow, "func main()")]
	needs, body := "", ""
	for _, path := range packages {
		if regexp.MustCompile(`\b` + path[strings.LastIndex(path, "/")+1:] + `\.`).MatchString(code) {
			needs += fmt.Sprintf("\t%q\n", path)
		}
	}
	for line := range strings.Lines(code) {
		body += "\t" + line
		if strings.Contains(line, "err ") {
			body += "\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n"
		}
	}
	return fmt.Sprintf(growing, needs, flow, body)
}

// newModule makes a module beside a clone.
func newModule(t *testing.T) (dir string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	above := t.TempDir()
	require.NoError(t, os.Symlink(root, filepath.Join(above, "convene")))
	dir = filepath.Join(above, "mine")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for _, file := range []string{"../go.mod", "../go.sum", "agents.go"} {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		if file == "../go.mod" { // with the versions of these examples, so that nothing has to be downloaded
			data = regexp.MustCompile(`(?m)^(module|replace|.*/providers/).*\n`).ReplaceAll(data, nil)
			data = append([]byte("module example.com/mine\n"), data...)
		}
		write(t, filepath.Join(dir, filepath.Base(file)), string(data))
	}
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
}

// command runs a command in a folder outside of this module.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %q:\n%s", name, args, out)
	return string(out)
}

// TestGrowing runs the README's steps from memory to Postgres: each program twice, in
// a module beside a clone.
func TestGrowing(t *testing.T) {
	code := blocks(section(t, "From memory to many machines"), "go")
	require.Len(t, code, 4, "three stores, and the rest")
	setup := blocks(section(t, "A first flow"), "sh")
	require.Len(t, setup, 1)
	dir := newModule(t)
	const asked, found = "Tea: a small fire you can hold. (4 calls)\n", "Tea: a small fire you can hold. (0 calls)\n"
	for i, step := range []struct{ store, again string }{{"memory", asked}, {"SQLite", found}, {"Postgres", found}} {
		t.Run(step.store, func(t *testing.T) {
			if step.store == "Postgres" {
				t.Setenv("DATABASE_URL", pgtest.Open(t, "fsync=off").DSN())
			}
			write(t, filepath.Join(dir, "main.go"), assemble(t, code[i]+code[3]))
			for line := range strings.Lines(setup[0]) {
				words := strings.Fields(line)
				command(t, dir, words[0], words[1:]...)
			}
			command(t, dir, "go", "build", "-o", "mine", ".")
			assert.Equal(t, asked, command(t, dir, "./mine"), "the writer and the critic, twice each")
			assert.Equal(t, step.again, command(t, dir, "./mine"))
		})
	}
}
