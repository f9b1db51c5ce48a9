package arch

import (
	"slices"
	"strings"
	"testing"
)

func TestArrows(t *testing.T) {
	for _, f := range files(t) {
		if f.test {
			continue
		}
		rule, ok := ruleOf(f.dir)
		if !ok {
			t.Errorf("%s: package %s has no rule: add it to arrows in internal/arch/table_test.go", f.path, f.dir)
			continue
		}
		for _, imported := range f.imports {
			if fault := rule.refuses(f.dir, imported); fault != "" {
				t.Errorf("%s imports %s: %s (internal/arch/table_test.go)", f.path, imported, fault)
			}
		}
	}
}

func TestLangchainPackages(t *testing.T) {
	for _, f := range files(t) {
		if f.dir == "bench/peers" {
			continue // it measures the rest of it
		}
		for _, imported := range f.imports {
			if strings.HasPrefix(imported, "github.com/tmc/langchaingo") && !slices.Contains(langchain, imported) {
				t.Errorf("%s imports %s; only these may be: %s", f.path, imported, strings.Join(langchain, ", "))
			}
		}
	}
}

// The rules themselves: what they must refuse and what they must let through.
func TestRules(t *testing.T) {
	tests := []struct {
		dir, imported string
		ok            bool
	}{
		{"grading", "math", true},
		{"grading", module + "/fsm", false},
		{"grading", "github.com/stretchr/testify/require", false},
		{"fsm", "github.com/looplab/fsm", true},
		{"providers", module + "/orchestrator/agent", false},
		{"providers", "golang.org/x/sync/errgroup", true},
		{"providers", "golang.org/x/synchrony", false},
		{"providers/langchain", "github.com/tmc/langchaingo/llms/openai", true},
		{"providers/langchain", "github.com/tmc/langchaingo/chains", false},
		{"blackboard", module + "/orchestrator", false},
		{"orchestrator/engine", module + "/orchestrator", false},
		{"orchestrator/hierarchy", module + "/orchestrator", true},
		{"orchestrator/hierarchy", module + "/orchestrator/engine", false},
		{"orchestrator/hierarchy", module + "/orchestrator/hierarchy/internal/x", true},
		{"orchestrator/hierarchy", module + "/orchestrator/delivery", false},
		{"examples/film", module + "/blackboard/sqlite", true},
		{"examples/film", module + "/internal/answer", false},
		{"examples/film", module + "/examples/internal/x", true},
	}
	for _, tt := range tests {
		rule, ok := ruleOf(tt.dir)
		if !ok {
			t.Errorf("%s has no rule", tt.dir)
		}
		if fault := rule.refuses(tt.dir, tt.imported); (fault == "") != tt.ok {
			t.Errorf("%s imports %s: fault %q, want ok %v", tt.dir, tt.imported, fault, tt.ok)
		}
	}
	if _, ok := ruleOf("orchestrator/unheard"); ok {
		t.Error("an unlisted package has a rule")
	}
}

// ruleOf finds the rule of a package: its own, or that of a tree it is in. What is
// internal to a package goes by that package's rule.
func ruleOf(dir string) (may, bool) {
	if rule, ok := arrows[dir]; ok {
		return rule, true
	}
	for above, rule := range arrows {
		if rule.tree && below(dir, above) || above != "." && below(dir, above+"/internal") {
			return rule, true
		}
	}
	return may{}, false
}

// refuses says why the package in dir may not import the other; "": it may.
func (m may) refuses(dir, imported string) string {
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return "" // the standard library
	}
	own, ok := strings.CutPrefix(imported, module+"/")
	switch {
	case !ok && (m.any || slices.ContainsFunc(m.others, func(o string) bool { return below(imported, o) })):
		return ""
	case !ok:
		return "this module is not for this package"
	case below(own, dir+"/internal"), m.any && below(own, tree(dir)+"/internal"):
		return ""
	case m.any && strings.Contains("/"+own+"/", "/internal/"):
		return "a user could not import it"
	case m.any || slices.Contains(m.own, own):
		return ""
	}
	return "the arrow points the wrong way"
}

// tree is the folder at the root that dir is in.
func tree(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	return first
}

// below reports whether p is dir or in it.
func below(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
