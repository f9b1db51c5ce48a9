package arch

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What the core does is written in one place: four lists of error codes, four JSON
// encoders and ten functions that shortened texts had drifted apart, and three of the
// latter split runes.
func TestOnce(t *testing.T) {
	t.Run("each error code is declared once", func(t *testing.T) {
		at := map[string]string{}
		for _, f := range core(t) {
			for _, code := range declaredCodes(f.ast) {
				if other, taken := at[code]; taken {
					t.Errorf("%s declares the error code %q, and so does %s", f.path, code, other)
				}
				at[code] = f.path
			}
		}
		if at["budget"] == "" || at["refused"] == "" {
			t.Errorf("the codes of the core were not found: %v", at)
		}
	})
	for _, once := range []struct {
		what, called string
		in           []string // the files that may
	}{
		{"makes a JSON encoder", "SetEscapeHTML", []string{"blackboard/runlog/export.go", "internal/text/text.go"}},
		{"cuts a text between runes", "RuneStart", []string{"internal/text/text.go"}},
	} {
		t.Run("one place "+once.what, func(t *testing.T) {
			seen := 0
			for _, f := range core(t) {
				if !calls(f.ast, once.called) {
					continue
				}
				if seen++; !slices.Contains(once.in, f.path) {
					t.Errorf("%s %s; %v do", f.path, once.what, once.in)
				}
			}
			if seen != len(once.in) {
				t.Errorf("%d files %s, want those of %v", seen, once.what, once.in)
			}
		})
	}
}

// core are the files of the core, without tests and test kits.
func core(t *testing.T) []file {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(files(t)), func(f file) bool {
		return f.test || !slices.Contains([]string{
			"blackboard", "blackboard/runlog", "blackboard/sqlite", "internal/answer", "orchestrator/team/prompt", "internal/text",
			"orchestrator", "orchestrator/agent", "orchestrator/engine", "orchestrator/internal/crew", "orchestrator/internal/engine", "orchestrator/internal/fleet", "orchestrator/internal/jobs",
			"orchestrator/internal/journal", "orchestrator/internal/sched",
		}, f.dir)
	})
}

// declaredCodes are the texts of constants Code("…") and agent.Code("…").
func declaredCodes(f *ast.File) (codes []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, value := range spec.Values {
			call, ok := value.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 || !strings.HasSuffix(name(call.Fun), "Code") {
				continue
			}
			if text, ok := call.Args[0].(*ast.BasicLit); ok {
				code, _ := strconv.Unquote(text.Value)
				codes = append(codes, code)
			}
		}
		return true
	})
	return codes
}

// calls tells whether a function of that name is called.
func calls(f *ast.File, function string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		found = found || ok && name(call.Fun) == function
		return !found
	})
	return found
}

// name is the last name of a function that is called.
func name(fun ast.Expr) string {
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	default:
		return ""
	}
}
