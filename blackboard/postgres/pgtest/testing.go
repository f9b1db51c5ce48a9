package pgtest

import (
	"context"
	"errors"
	"testing"
)

// Open starts a server for a test, and stops it when the test ends. Where Postgres is
// not installed the test is skipped.
func Open(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := Start(context.Background(), settings...)
	if errors.Is(err, ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
