package arch

import (
	"encoding/json"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestRootRequires(t *testing.T) {
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Replace []struct{ Old struct{ Path string } }
	}
	goJSON(t, &mod, "mod", "edit", "-json")
	for _, r := range mod.Require {
		if !r.Indirect && !slices.Contains(direct, r.Path) {
			t.Errorf("go.mod requires %s directly; only these may be: %s", r.Path, strings.Join(direct, ", "))
		}
	}
	for _, r := range mod.Replace {
		t.Errorf("go.mod replaces %s: hosts would not see that", r.Old.Path)
	}
}

func TestWorkspace(t *testing.T) {
	var work struct{ Use []struct{ DiskPath string } }
	goJSON(t, &work, "work", "edit", "-json")
	used := map[string]bool{}
	for _, u := range work.Use {
		used[path.Clean(u.DiskPath)] = true
	}
	err := walk(func(name string, _ []byte) error {
		dir := path.Dir(name)
		if path.Base(name) == "go.mod" && !used[dir] && !slices.Contains(outsideWork, dir) {
			t.Errorf("go.work does not use %s", dir)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// goJSON decodes what the go command prints at the root of the repository.
func goJSON(t *testing.T, v any, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	if err := json.Unmarshal(out, v); err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
}
