package sqlite_test

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
)

// wantError opens path and looks for the path and for what to do in the error.
func wantError(t *testing.T, path string, parts ...string) {
	t.Helper()
	s, err := sqlite.Open(path)
	if err == nil {
		err = s.Close()
		t.Fatalf("Open succeeded (Close = %v), want an error with %q", err, parts)
	}
	for _, part := range append(parts, path) {
		assert.ErrorContains(t, err, part)
	}
}

// script executes SQL on the file at path as another program would.
func script(t testing.TB, path, statements string) error {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath())
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	_, err = db.ExecContext(t.Context(), statements)
	return err
}

func TestOpenMissingDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "no", "such")
	wantError(t, filepath.Join(dir, "runs.db"), "it cannot be opened", "in a directory that exists")
}

func TestOpenDirectory(t *testing.T) {
	wantError(t, t.TempDir(), "give the path of a file")
}

func TestOpenBelowAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	wantError(t, filepath.Join(file, "runs.db"), "it cannot be opened", "in a directory that exists")
}

func TestOpenNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "letter.txt")
	text := strings.Repeat("Dear reader, this is no database. ", 100)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	wantError(t, path, "not a SQLite file", "give the path of a new file")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, text, string(after), "the file is left alone")
}

func TestOpenOtherProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "photos.db")
	require.NoError(t, script(t, path, "CREATE TABLE photos(x)"))
	wantError(t, path, "of another program", "give the path of a new file")
}

func TestOpenOtherVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := sqlite.Open(path)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	for _, version := range []string{"0", "1", "99"} {
		require.NoError(t, script(t, path, "PRAGMA user_version = "+version))
		wantError(t, path, "it has version "+version+", this program knows version 4", "use the program that made it")
	}
}

func TestOpenReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := sqlite.Open(path)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, os.Chmod(path, 0o400))
	wantError(t, path, "it cannot be written", "must be writable")
}

func TestOpenReadOnlyDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := filepath.Join(t.TempDir(), "sealed")
	require.NoError(t, os.Mkdir(dir, 0o500))
	wantError(t, filepath.Join(dir, "runs.db"), "it cannot be opened", "must be readable and writable")
}

func TestConfigValidate(t *testing.T) {
	_, err := sqlite.New(sqlite.Config{Sync: 7})
	assert.ErrorContains(t, err, `Path is "", want the path of a file`)
	for _, path := range []string{":memory:", "file::memory:?cache=shared", "file:runs.db"} {
		_, err := sqlite.Open(path)
		assert.ErrorContains(t, err, "runlog.Memory is a store without a file")
	}
	_, err = sqlite.New(sqlite.Config{Path: "x", Sync: 7})
	assert.ErrorContains(t, err, "Sync is 7, want Full or Normal")
}

func TestClose(t *testing.T) {
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "runs.db"))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	assert.ErrorIs(t, s.Append(t.Context(), nil), os.ErrClosed)
	assert.ErrorIs(t, s.Delete(t.Context(), "r"), os.ErrClosed)
	for _, err := range s.Records(t.Context(), "r", 0) {
		assert.ErrorIs(t, err, os.ErrClosed)
	}
}

func TestCloseInALoop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := sqlite.Open(path)
	require.NoError(t, err)
	require.NoError(t, s.Append(t.Context(), []runlog.Record{small("r", 0)}))
	for _, err := range s.Records(t.Context(), "r", 0) {
		require.NoError(t, err)
		require.NoError(t, s.Close(), "nothing is under way while a loop has a record")
	}
	assert.NoFileExists(t, path+"-wal", "the last one to close moves the log into the file")
}
