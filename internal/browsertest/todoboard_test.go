package browsertest

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const boardName = "Tea & <Cake>"

// build has the example build a board, and returns the repository.
func build(t *testing.T) string {
	t.Helper()
	browser(t) // without one, nothing is built
	dir := t.TempDir()
	repo := filepath.Join(dir, "repo")
	cmd := exec.CommandContext(t.Context(), "go", "run", "./todoboard", "-dir", repo, "-db", filepath.Join(dir, "b.db"), "-answer", boardName, "-pace", "0")
	cmd.Dir = filepath.Join("..", "..", "examples")
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return repo
}

// run runs a command in a folder and returns its output.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %q: %s", name, args, said)
	return strings.TrimSpace(string(said))
}

// serve builds the server of a repository and starts it on an empty board; it returns
// its URL.
func serve(t *testing.T, repo string) string {
	t.Helper()
	server := filepath.Join(t.TempDir(), "server")
	run(t, repo, "go", "build", "-o", server, ".")
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), server, "-addr", "localhost:0", "-file", filepath.Join(t.TempDir(), "todos.json"))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		assert.NoError(t, cmd.Wait(), "it ends in order")
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(url)
}

// do is what a user does, each step once the page is ready for it.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, done := context.WithTimeout(b.ctx, time.Minute)
	defer done()
	for i, step := range steps {
		require.NoError(b.t, chromedp.Do(ctx, step), "step %d", i+1)
	}
}

// add makes a todo by the form.
func (b *tab) add(title, due string) {
	b.t.Helper()
	b.do(
		chromedp.Click("#add"), chromedp.SendKeys("#editor [name=title]", title),
		chromedp.SetValue("#editor [name=due_date]", due), chromedp.Click("#editor [value=save]"),
	)
}

func TestTodoBoard(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts browsers")
	}
	repo := build(t)
	require.Equal(t, "9", run(t, repo, "git", "rev-list", "--count", "--merges", "main"), "a merge a task")
	run(t, repo, "go", "test", "./...")
	for _, view := range []struct {
		name          string
		width, height int64
		scheme        string
	}{{"desk", 1200, 800, "light"}, {"phone", 400, 800, "dark"}} {
		t.Run(view.name, func(t *testing.T) {
			useBoard(t, visit(t, serve(t, repo), view.width, view.height, view.scheme), "todoboard-"+view.name)
		})
	}
}

func useBoard(t *testing.T, b *tab, name string) {
	t.Helper()
	today := time.Now()
	day := func(days int) string { return today.AddDate(0, 0, days).Format("2006-01-02") }
	const todo, doing, overdue = "[data-status=todo] ", "[data-status=in_progress] ", ".card.overdue"
	assert.Equal(t, boardName, eval[string](b, "document.querySelector('h1').textContent"))

	b.add(evil, day(-1))
	b.do(chromedp.WaitVisible(todo + overdue))
	assert.Equal(t, evil, eval[string](b, "document.querySelector('.card h3').textContent"), "a title is text")
	assert.Equal(t, "rgb(239, 68, 68)", eval[string](b, "getComputedStyle(document.querySelector('.overdue .due')).color"), "#ef4444")
	b.add("Pay the rent", day(0))
	b.do(chromedp.WaitVisible(todo + ".card:nth-child(2)"))
	assert.Equal(t, 1, eval[int](b, "document.querySelectorAll('.overdue').length"), "due today is not overdue")
	if today.Day() != time.Now().Day() {
		t.Skip("midnight: today is another day now")
	}
	b.shoot(name)

	b.do(chromedp.Click(todo+".card:nth-child(1) .right"), chromedp.WaitVisible(doing+overdue))
	b.do(chromedp.Click(doing+".right"), chromedp.WaitVisible("[data-status=done] .card"), chromedp.WaitNotPresent(overdue))
	if b.wide() {
		b.do(chromedp.DragAndDrop(todo+".card", "[data-status=in_progress]"), chromedp.WaitVisible(doing+".card"))
		b.do(chromedp.Click(doing+".left"), chromedp.WaitVisible(todo+".card"))
	}

	b.do(chromedp.Click(todo+".edit"), chromedp.SendKeys("#editor [name=description]", "before noon"), chromedp.Click("#editor [value=save]"))
	b.do(chromedp.WaitVisible(todo + ".description:not(:empty)"))

	b.do(chromedp.Click(todo+".delete"), chromedp.WaitVisible("#confirm"), chromedp.Click("#confirm [value=cancel]"), chromedp.WaitNotVisible("#confirm"))
	assert.Equal(t, "1", eval[string](b, "document.querySelector('[data-status=todo] .count').textContent"), "it was kept")
	b.do(chromedp.Click(todo+".delete"), chromedp.Click("#confirm [value=delete]"), chromedp.WaitNotPresent(todo+".card"))
	b.do(chromedp.Navigate(eval[string](b, "location.href")), chromedp.WaitVisible("[data-status=done] .card"))
	assert.Equal(t, 1, eval[int](b, "document.querySelectorAll('.card').length"), "the file has one todo")

	assert.LessOrEqual(t, eval[float64](b, "document.documentElement.scrollWidth"), eval[float64](b, "innerWidth"), "nothing sticks out")
	assert.Empty(t, b.problems())
}

func (b *tab) wide() bool { return eval[bool](b, "innerWidth > 640") }
