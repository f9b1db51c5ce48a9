package git_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/git"
	"github.com/convene-go/convene/internal/git/gittest"
)

// repository makes one with a commit of a.txt.
func repository(t *testing.T) git.Repo {
	t.Helper()
	r := git.Repo{Dir: t.TempDir()}
	run(t, r, "init", "--quiet")
	write(t, r, "a.txt", "one\ntwo\nthree\n")
	run(t, r, "add", "--all")
	run(t, r, "commit", "--quiet", "-m", "first")
	return r
}

func run(t *testing.T, r git.Repo, args ...string) string {
	t.Helper()
	out, err := r.Run(t.Context(), args...)
	require.NoError(t, err)
	return out
}

func write(t *testing.T, r git.Repo, name, content string) {
	t.Helper()
	path := filepath.Join(r.Dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o755))
}

func TestRun(t *testing.T) {
	r := repository(t)
	assert.Equal(t, "Convene <convene@localhost> Convene first\n", run(t, r, "log", "--format=%an <%ae> %cn %s"))
	assert.Equal(t, "main\n", run(t, r, "branch", "--show-current"))

	r.Name, r.Email = "Ann", "ann@example.org"
	run(t, r, "commit", "--quiet", "--allow-empty", "-m", "second")
	assert.Equal(t, "Ann <ann@example.org>\n", run(t, r, "log", "-1", "--format=%cn <%ce>"), "each command says who")
}

func TestRunInAnotherRepository(t *testing.T) {
	r := git.Repo{Dir: t.TempDir(), GitDir: filepath.Join(t.TempDir(), "kept.git")}
	run(t, r, "init", "--quiet")
	write(t, r, "x", "1")
	run(t, r, "add", "--all")
	assert.Equal(t, "x\n", run(t, r, "ls-files"))
	assert.NoDirExists(t, filepath.Join(r.Dir, ".git"))
}

func TestErrors(t *testing.T) {
	r := repository(t)
	_, err := r.Run(t.Context(), "merge-base", "--is-ancestor", "HEAD", "nothing")
	var failed *git.Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 128, failed.Code)
	assert.Equal(t, "git merge-base --is-ancestor HEAD nothing: exit 128: fatal: Not a valid object name nothing", err.Error())

	_, err = r.Run(t.Context(), "ls-files", "--error-unmatch", "--", strings.Repeat("x", 5000))
	require.ErrorAs(t, err, &failed)
	beginning, more, _ := strings.Cut(failed.Detail, "\n")
	assert.Equal(t, "error: pathspec '"+strings.Repeat("x", 2000-len("error: pathspec '")), beginning)
	assert.Regexp(t, `^\[cut: the first 2000 of \d+ bytes\]$`, more)

	write(t, r, "a.txt", "")
	out, err := r.Run(t.Context(), "diff", "--exit-code", "HEAD", "--", "a.txt")
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 1, failed.Code)
	assert.Contains(t, out, "-one", "the output is there beside the error")

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.Run(canceled, "status")
	require.ErrorIs(t, err, context.Canceled)
}

// A repository that has everything configured that runs a program.
func TestNothingConfiguredIsExecuted(t *testing.T) {
	r := repository(t)
	trace := filepath.Join(t.TempDir(), "trace")
	evil := filepath.Join(t.TempDir(), "evil")
	require.NoError(t, os.WriteFile(evil, []byte("#!/bin/sh\necho \"$0 $*\" >>'"+trace+"'\ncat\n"), 0o755))
	var config strings.Builder
	config.WriteString("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
	for _, line := range []string{
		"core.hooksPath=" + filepath.Dir(evil), "core.fsmonitor=" + evil, "core.pager=" + evil, "core.editor=" + evil, "core.sshCommand=" + evil,
		"diff.external=" + evil, "diff.bad.command=" + evil, "diff.bad.textconv=" + evil, "merge.bad.driver=" + evil, "merge.bad.name=bad",
		"filter.bad.clean=" + evil, "filter.bad.smudge=" + evil, "filter.bad.process=" + evil, "filter.bad.required=true",
		"commit.gpgSign=true", "gpg.program=" + evil, "core.attributesFile=" + evil, "credential.helper=" + evil, "pager.log=" + evil,
	} {
		key, value, _ := strings.Cut(line, "=")
		parts := strings.Split(key, ".")
		section := parts[0]
		if len(parts) == 3 {
			section += ` "` + parts[1] + `"`
		}
		config.WriteString("[" + section + "]\n\t" + parts[len(parts)-1] + " = " + value + "\n")
	}
	write(t, r, ".git/config", config.String())
	for _, hook := range []string{"pre-commit", "post-commit", "post-checkout", "pre-merge-commit", "reference-transaction", "post-index-change", "commit-msg", "prepare-commit-msg"} {
		write(t, r, ".git/hooks/"+hook, "#!/bin/sh\n"+evil+"\n")
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(evil), hook), []byte("#!/bin/sh\n"+evil+"\n"), 0o755))
	}
	write(t, r, ".gitattributes", "*.txt filter=bad diff=bad merge=bad\n")

	run(t, r, "status")
	run(t, r, "checkout", "--quiet", "-b", "side")
	write(t, r, "a.txt", "one\ntwo\nside\n")
	run(t, r, "add", "--all")
	assert.Contains(t, run(t, r, "diff", "--cached"), "+side\n", "the difference is shown as git shows it")
	run(t, r, "commit", "--quiet", "-m", "side")
	run(t, r, "checkout", "--quiet", "main")
	write(t, r, "a.txt", "one\nmain\nthree\n")
	run(t, r, "add", "--all")
	run(t, r, "commit", "--quiet", "-m", "main")
	assert.Contains(t, run(t, r, "log", "-p", "-1"), "+main\n")
	assert.Equal(t, "one\ntwo\nside\n", run(t, r, "show", "side:a.txt"), "filters changed nothing")
	_, err := r.Run(t.Context(), "merge", "--no-edit", "side")
	var failed *git.Error
	require.ErrorAs(t, err, &failed, "a driver that may not run is a conflict")
	run(t, r, "merge", "--abort")
	_, err = r.Run(t.Context(), "merge-tree", "--write-tree", "main", "side")
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 1, failed.Code, "the same in a merge without a work tree")
	run(t, r, "checkout", "--quiet", "side")
	_, err = r.Run(t.Context(), "fetch", "ssh://example.invalid/x")
	require.Error(t, err)

	data, err := os.ReadFile(trace)
	require.ErrorIs(t, err, os.ErrNotExist, string(data))
}

func TestNoEnvironmentIsInherited(t *testing.T) {
	t.Setenv("GIT_DIR", "/nowhere")
	t.Setenv("GIT_AUTHOR_NAME", "somebody else")
	home := t.TempDir()
	t.Setenv("HOME", home)
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = somebody else\n[alias]\n\tx = !exit 7\n"), 0o600))
	r := repository(t)
	assert.Equal(t, "Convene Convene\n", run(t, r, "log", "--format=%an %cn"))
	_, err := r.Run(t.Context(), "x")
	require.ErrorContains(t, err, "'x' is not a git command")
}

// A filter that could not be disabled would be executed.
func TestNothingRunsIfTheConfigurationCannotBeRead(t *testing.T) {
	r := repository(t)
	gittest.New(t).At(1)
	_, err := r.Run(t.Context(), "status")
	require.ErrorContains(t, err, "git config --null --name-only")
}

// To git -c, such a name would end at its "=".
func TestNamesOfFiltersAndDriversHaveAnyCharacter(t *testing.T) {
	r := repository(t)
	trace := filepath.Join(t.TempDir(), "trace")
	evil := filepath.Join(t.TempDir(), "evil")
	require.NoError(t, os.WriteFile(evil, []byte("#!/bin/sh\necho \"$0 $*\" >>'"+trace+"'\ncat\n"), 0o755))
	var config strings.Builder
	for _, name := range []string{"a=b", "a.clean=b", `\"x y`} {
		for _, line := range []string{"filter clean", "filter smudge", "filter process", "merge driver"} {
			section, key, _ := strings.Cut(line, " ")
			config.WriteString("[" + section + ` "` + name + "\"]\n\t" + key + " = " + evil + "\n")
		}
	}
	data, err := os.ReadFile(filepath.Join(r.Dir, ".git", "config"))
	require.NoError(t, err)
	write(t, r, ".git/config", string(data)+config.String())
	attributes := "*.txt filter=a=b merge=a=b\n*.md filter=a.clean=b merge=a.clean=b\n"
	write(t, r, ".gitattributes", attributes)

	run(t, r, "checkout", "--quiet", "-b", "side")
	write(t, r, "a.txt", "side\n")
	write(t, r, "a.md", "side\n")
	run(t, r, "add", "--all")
	run(t, r, "commit", "--quiet", "-m", "side")
	run(t, r, "checkout", "--quiet", "main")
	write(t, r, "a.txt", "main\n")
	write(t, r, "a.md", "main\n")
	write(t, r, ".gitattributes", attributes)
	run(t, r, "add", "--all")
	run(t, r, "commit", "--quiet", "-m", "main")
	_, err = r.Run(t.Context(), "merge", "--no-edit", "side")
	var failed *git.Error
	require.ErrorAs(t, err, &failed, "a driver that may not run is a conflict")
	assert.NoFileExists(t, trace)
}

func TestOutput(t *testing.T) {
	r := repository(t)
	write(t, r, "long", strings.Repeat("x", 32<<20+1))
	id := strings.TrimSpace(run(t, r, "hash-object", "-w", "--", "long"))
	_, err := r.Run(t.Context(), "cat-file", "blob", id)
	require.ErrorIs(t, err, git.ErrOutput)
	require.EqualError(t, err, "git cat-file blob "+id+": too much output: more than 33554432 bytes")
}

func TestARepositoryOfAnotherOwner(t *testing.T) {
	r, outside := repository(t), t.TempDir()
	gittest.OtherOwner(t, "/another/one")
	r.Safe = git.Safe(t.Context())
	assert.Equal(t, []string{"/another/one"}, r.Safe)
	_, err := r.Run(t.Context(), "status")
	require.ErrorContains(t, err, "git config --global --add safe.directory", "git says what to do")

	gittest.Configured(t, "[safe]\n\tdirectory = /another/one\n\tdirectory = "+r.Dir+"\n")
	r.Safe = git.Safe(t.Context())
	assert.Contains(t, run(t, r, "status"), "nothing to commit")
	write(t, r, ".git/config", "[safe]\n\tdirectory = *\n[filter \"f\"]\n\tclean = touch "+outside+"/executed\n")
	write(t, r, ".gitattributes", "* filter=f\n")
	run(t, r, "add", "--all")
	assert.NoFileExists(t, filepath.Join(outside, "executed"))
	gittest.Configured(t, "")
	r.Safe = git.Safe(t.Context())
	assert.Empty(t, r.Safe, "what the repository says of itself counts for nothing")
}

func TestWhatTheUserIgnores(t *testing.T) {
	status := func(r git.Repo) string { return run(t, r, "status", "--porcelain") }
	r := repository(t)
	write(t, r, ".DS_Store", "x")
	write(t, r, "note.swp", "x")
	home := gittest.Configured(t, "[core]\n\texcludesFile = ~/ignored\n")
	write(t, git.Repo{Dir: home}, "ignored", ".DS_Store\n")
	assert.Equal(t, "?? .DS_Store\n?? note.swp\n", status(r))
	r.Ignore = true
	assert.Equal(t, "?? note.swp\n", status(r))

	home = gittest.Configured(t, "")
	assert.Equal(t, "?? .DS_Store\n?? note.swp\n", status(r))
	write(t, git.Repo{Dir: home}, ".config/git/ignore", "*.swp\n")
	assert.Equal(t, "?? .DS_Store\n", status(r), "git's own place for it")
}
