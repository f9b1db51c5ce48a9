package safepath_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/safepath"
)

func TestClean(t *testing.T) {
	for _, tt := range []struct{ name, path, want string }{
		{"BA68 a slash is the folder", "/artifacts/frontend/todo_board.jsx", "artifacts/frontend/todo_board.jsx"},
		{"BA69 as it is", "docs/a.md", "docs/a.md"},
		{"BA69 shortened", "a//b/./c", "a/b/c"},
		{"BA69 back and forth", "a/../b", "b"},
		{"BA69 inside the tree", "/etc/passwd", "etc/passwd"},
		{"a dot in front", ".github/workflows/ci.yml", ".github/workflows/ci.yml"},
		{"not quite git", "a/.gitignore", "a/.gitignore"},
		{"not quite a device", "console/auxiliary.go", "console/auxiliary.go"},
		{"a folder's slash", "a/b/", "a/b"},
		{"letters of others", "docs/größe 1.md", "docs/größe 1.md"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := safepath.Clean(tt.path)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

var unsafePaths = []string{
	"../x", "a/../../x", "/../x", "..", "a/..", "", ".", "/", "//",
	".git/config", "a/.GIT/hooks/x", ".git", "x/.Git", "git~1/config", "GIT~1", ".git./config", ".git /config", ".git::$INDEX_ALLOCATION/config", ".g\u200cit/config",
	`C:\x`, `..\x`, `a\..\..\x`, "C:/x", "c:x", "a:b",
	"NUL", "a/nul", "con", "Aux.go", "com1.txt", "lpt¹",
	"a\x00b", "\x00", "a\nb", "a\x7f", "a\u202eb", "\xff",
	strings.Repeat("d/", 512) + "f",
	"a.", "a ", "a./b", "a /b", "...",
}

func TestUnsafe(t *testing.T) {
	for _, p := range unsafePaths {
		t.Run("BA70 "+p, func(t *testing.T) {
			got, err := safepath.Clean(p)
			require.ErrorIs(t, err, safepath.ErrUnsafePath)
			assert.Empty(t, got)
			dir := t.TempDir()
			_, err = safepath.In(dir, p)
			require.ErrorIs(t, err, safepath.ErrUnsafePath)
			require.ErrorIs(t, safepath.Write(dir, p, nil), safepath.ErrUnsafePath)
			require.ErrorIs(t, safepath.Remove(dir, p), safepath.ErrUnsafePath)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Empty(t, entries)
		})
	}
}

func TestErrorSaysWhy(t *testing.T) {
	for p, want := range map[string]string{
		"../x":                     `unsafe path "../x": it leads out of its folder`,
		"":                         `unsafe path "": it names no file`,
		strings.Repeat("ab/", 400): `unsafe path "` + strings.Repeat("ab/", 21) + `a…": it has more than 1024 bytes`,
		`a\b`:                      `unsafe path "a\\b": it has a '\\'`,
		"\xff":                     `unsafe path "\xff": it is not UTF-8`,
		".git":                     `unsafe path ".git": ".git" belongs to git`,
	} {
		_, err := safepath.Clean(p)
		require.EqualError(t, err, want)
	}
}

func TestLinks(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("kept"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "real", ".git"), 0o755))
	for name, to := range map[string]string{
		"out": outside, "file": filepath.Join(outside, "secret"), "up": "..", "repository": filepath.Join("real", ".git"),
		"new": filepath.Join(outside, "new"), "self": "self", "root": ".", "inside": "real",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	for _, p := range []string{"out", "out/x", "out/secret", "out/deep/er", "file", "up", "up/x", "repository", "repository/hooks/x", "real/../out/x", "new", "inside/../up/x"} {
		t.Run("BA70 "+p, func(t *testing.T) {
			_, err := safepath.In(dir, p)
			require.ErrorIs(t, err, safepath.ErrUnsafePath)
			require.ErrorIs(t, safepath.Write(dir, p, []byte("x")), safepath.ErrUnsafePath)
		})
	}
	require.Error(t, safepath.Write(dir, "self/x", nil), "a link to itself")
	require.NoError(t, safepath.Write(dir, "inside/x", []byte("x")))
	assert.FileExists(t, filepath.Join(dir, "real", "x"))
	require.Error(t, safepath.Write(dir, "root", nil), "the folder itself")
	require.NoError(t, safepath.Write(dir, "root/y", []byte("y")))
	assert.FileExists(t, filepath.Join(dir, "y"))

	kept, err := os.ReadFile(filepath.Join(outside, "secret"))
	require.NoError(t, err)
	assert.Equal(t, "kept", string(kept))
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

func TestFolderThatIsALink(t *testing.T) {
	real, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(real, link))
	require.NoError(t, safepath.Write(link, "a/b", []byte("x")))
	assert.FileExists(t, filepath.Join(real, "a", "b"))
	_, err := safepath.In(filepath.Join(real, "none"), "a")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NotErrorIs(t, err, safepath.ErrUnsafePath)
}

func TestWriteAndRemove(t *testing.T) {
	dir := t.TempDir()
	full := filepath.Join(dir, "a", "b", "run.sh")
	require.NoError(t, safepath.Write(dir, "/a/b/run.sh", []byte("one")))
	require.NoError(t, os.Chmod(full, 0o755))
	require.NoError(t, safepath.Write(dir, "a/b/run.sh", []byte("2")))
	data, err := os.ReadFile(full)
	require.NoError(t, err)
	assert.Equal(t, "2", string(data))
	info, err := os.Stat(full)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode())
	require.Error(t, safepath.Write(dir, "a", nil), "a folder")
	require.Error(t, safepath.Write(dir, "a/b/run.sh/x", nil), "below a file")

	require.NoError(t, safepath.Write(dir, "a/other", nil))
	require.Error(t, safepath.Remove(dir, "a"), "a folder that is not empty")
	require.NoError(t, safepath.Remove(dir, "a/b/run.sh"))
	assert.NoDirExists(t, filepath.Join(dir, "a", "b"), "empty folders go")
	assert.FileExists(t, filepath.Join(dir, "a", "other"))
	require.NoError(t, safepath.Remove(dir, "a/b/run.sh"), "it is not there")
	require.NoError(t, safepath.Remove(dir, "a/other"))
	assert.NoDirExists(t, filepath.Join(dir, "a"))
	assert.DirExists(t, dir)
}

func TestSlug(t *testing.T) {
	for _, tt := range []struct{ name, id, want string }{
		{"BA71 as it is", "db_plan", "db_plan"},
		{"BA71 as it is", "test-api", "test-api"},
		{"BA72 capitals", "DB_Plan", "db_plan-c1f521"},
		{"BA73 a path", "../../etc", "etc-74ccf3"},
		{"BA74 a command", "api build; rm -rf /", "api-build-rm-rf-ac31ec"},
		{"BA75 an option", "-x", "x-a42096"},
		{"BA75 a range", "a..b", "a-b-f62b42"},
		{"BA75 a lock", "x.lock", "x-lock-f53b53"},
		{"BA76 a revision", "views_build@{1}", "views_build-1-ea99c5"},
		{"BA77 empty", "", "task-e3b0c4"},
		{"BA78 long", strings.Repeat("a", 60), strings.Repeat("a", 40) + "-11ee39"},
	} {
		t.Run(tt.name+" "+tt.id, func(t *testing.T) {
			assert.Equal(t, tt.want, safepath.Slug(tt.id))
		})
	}
}

var slugForm = regexp.MustCompile(`^[a-z0-9_]+(-[a-z0-9_]+)*$`)

func FuzzSlug(f *testing.F) {
	f.Add("DB_Plan")
	f.Add(strings.Repeat("a", 39) + "-b")
	f.Add("K\u212a") // the sign of Kelvin has k as its small letter
	f.Fuzz(func(t *testing.T, id string) {
		slug := safepath.Slug(id)
		assert.Regexp(t, slugForm, slug)
		assert.LessOrEqual(t, len(slug), 47)
		if slugForm.MatchString(id) && len(id) <= 40 {
			assert.Equal(t, id, slug)
		} else {
			assert.NotEqual(t, id, slug)
		}
		_, err := safepath.Clean("tasks/" + slug + "-x")
		assert.NoError(t, err)
	})
}

func FuzzIn(f *testing.F) {
	for _, p := range unsafePaths {
		f.Add(p)
	}
	f.Add("/a/b")
	f.Add("out/x")
	f.Add("inside/./x/../y")
	f.Fuzz(func(t *testing.T, p string) {
		above := t.TempDir()
		dir := filepath.Join(above, "root")
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "real"), 0o755))
		require.NoError(t, os.Symlink("..", filepath.Join(dir, "out")))
		require.NoError(t, os.Symlink("real", filepath.Join(dir, "inside")))
		clean, err := safepath.In(dir, p)
		if err != nil {
			assert.Empty(t, clean)
		} else {
			assert.Equal(t, path.Clean(clean), clean)
			assert.True(t, filepath.IsLocal(clean))
			assert.NotContains(t, "/"+strings.ToLower(clean)+"/", "/.git/")
			again, err := safepath.In(dir, clean)
			require.NoError(t, err)
			assert.Equal(t, clean, again, "clean paths stay")
		}
		wrote := safepath.Write(dir, p, []byte("x"))
		if err != nil {
			require.Error(t, wrote)
		}
		entries, err := os.ReadDir(above)
		require.NoError(t, err)
		assert.Len(t, entries, 1, "nothing was written outside")
		assert.NoDirExists(t, filepath.Join(dir, ".git"))
		_ = safepath.Remove(dir, p)
		assert.DirExists(t, dir)
	})
}
