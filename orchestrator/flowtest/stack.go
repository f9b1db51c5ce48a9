package flowtest

import (
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

// goroutine is one goroutine of a dump of stacks.
type goroutine struct {
	id, state, bubble string
	frames            []frame // the innermost first
	starter           string  // the goroutine that started it
	started           frame   // the place where it was started
}

// frame is a function with the file and line where it is.
type frame struct{ function, at string }

// place returns the name of the file and the line.
func (f frame) place() string { return base(f.at) }

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

var (
	headLine  = regexp.MustCompile(`^goroutine (\d+) \[([a-zA-Z .]+)[^,\]]*(?:, (synctest bubble \d+))?`)
	startLine = regexp.MustCompile(`^created by (.*?)(?: in goroutine (\d+))?$`)
)

// parseGoroutine reads a goroutine as package runtime prints it.
func parseGoroutine(text string) goroutine {
	var g goroutine
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if m := headLine.FindStringSubmatch(lines[0]); m != nil {
		g.id, g.state, g.bubble = m[1], strings.TrimSpace(m[2]), m[3]
	}
	for i := 1; i+1 < len(lines); i += 2 {
		at, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +0x")
		if m := startLine.FindStringSubmatch(lines[i]); m != nil {
			g.started, g.starter = frame{m[1], at}, m[2]
			continue
		}
		name := lines[i]
		if args := strings.LastIndexByte(name, '('); args > 0 {
			name = name[:args]
		}
		g.frames = append(g.frames, frame{name, at})
	}
	return g
}

const module = "github.com/convene-go/convene/orchestrator"

// ours are the packages between a flow or an agent and the runtime.
var ours = []string{module + ".", module + "/engine.", module + "/agent.", module + "/internal/", module + "/flowtest."}

// of reports whether the function belongs to one of the packages.
func (f frame) of(packages []string) bool {
	for _, p := range packages {
		if strings.HasPrefix(f.function, p) {
			return true
		}
	}
	return false
}

// goSource returns the folder of the source of Go's own packages; "" with -trimpath.
var goSource = sync.OnceValue(func() string {
	const known = "strings/builder.go"
	pc := reflect.ValueOf((*strings.Builder).Len).Pointer()
	file, _ := runtime.FuncForPC(pc).FileLine(pc)
	return strings.TrimSuffix(file, known)
})

// std reports whether the function belongs to one of Go's own packages.
func (f frame) std() bool {
	if root := goSource(); root != "" {
		return strings.HasPrefix(f.at, root)
	}
	dir, _, _ := strings.Cut(f.at, "/") // built with -trimpath
	return !strings.Contains(dir, ".")
}

// user returns the index of the innermost frame that belongs neither to Go nor to this
// library, or -1.
func (g goroutine) user() int {
	for i, f := range g.frames {
		if !f.std() && !f.of(ours) {
			return i
		}
	}
	return -1
}

// has reports whether a function whose name contains part is on the stack.
func (g goroutine) has(part string) bool {
	for _, f := range g.frames {
		if strings.Contains(f.function, part) {
			return true
		}
	}
	return false
}

// branch reports whether g executes a branch of a flow.
func (g goroutine) branch() bool {
	return g.has("iter.Pull[...].func1") && g.has(module+".") && g.user() >= 0
}

// where returns in which function g waits, and at which line of the user's code.
func (g goroutine) where() string {
	i := g.user()
	what := g.state
	if i > 0 {
		what = shortName(g.frames[i-1].function)
	}
	return fmt.Sprintf("%s at %s", what, g.frames[i].place())
}

// origin returns where g was started, or by which function if Go's own code started it.
func (g goroutine) origin() string {
	if g.started.std() {
		return "by " + shortName(g.started.function)
	}
	return "at " + g.started.place()
}

// shortName returns Context.Call for a/b/orchestrator.(*Context).Call.
func shortName(function string) string {
	_, name, ok := strings.Cut(base(function), ".")
	if !ok {
		return function
	}
	return strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(name)
}

// waits returns, one a line, where the branches, the agents and the other goroutines of a
// bubble wait. dump has the stacks of all goroutines.
func waits(dump, bubble string) []string {
	var all []goroutine
	branches := map[string]bool{}
	for text := range strings.SplitSeq(dump, "\n\n") {
		g := parseGoroutine(text)
		if g.bubble != bubble {
			continue
		}
		branches[g.id] = g.branch()
		all = append(all, g)
	}
	var lines []string
	for _, g := range all {
		i := g.user()
		switch {
		case i < 0 || g.state == "running" || g.has("testing.tRunner"):
		case branches[g.id] && i > 0 && g.frames[i-1].of(ours):
			lines = append(lines, "a branch of the flow waits in "+g.where())
		case branches[g.id]:
			lines = append(lines, "a branch of the flow is blocked in "+g.where()+": flow code waits only through its Context")
		case branches[g.starter]:
			lines = append(lines, "a goroutine that the flow started "+g.origin()+" waits in "+g.where()+": a flow starts no goroutines")
		case g.has("flowtest.(*world)"):
			lines = append(lines, "an agent waits in "+g.where())
		default:
			lines = append(lines, "a goroutine that was started "+g.origin()+" waits in "+g.where())
		}
	}
	return lines
}
