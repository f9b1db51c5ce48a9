package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres/pgtest"
)

// TestMain is the main function of the workers, too.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "worker" {
		if err := work(context.Background(), os.Args[2], os.Args[3], os.Args[4], os.Stdin); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	m.Run()
}

func TestFleet(t *testing.T) {
	server := pgtest.Open(t, "fsync=off")
	for range 2 { // again on the same database
		var out bytes.Buffer
		require.NoError(t, fleet(t.Context(), []string{"-dsn", server.DSN(), "-films", "4", "-pace", "30ms"}, &out))
		assert.Contains(t, out.String(), "worker A is killed\nworker B has taken over its films after ")
		assert.Contains(t, out.String(), "film 3 is completed")
		assert.Contains(t, out.String(), "4 films, 20 calls on record, 0 of them twice")
	}
}

func TestCode(t *testing.T) {
	var out bytes.Buffer
	assert.Zero(t, code(nil, &out))
	assert.Zero(t, code(fleet(t.Context(), []string{"-h"}, &bytes.Buffer{}), &out), "a wish for help is no fault")
	assert.Empty(t, out.String())
	assert.Equal(t, 1, code(errors.New("no server"), &out))
	assert.Equal(t, "fleet: no server\n", out.String())
}

func TestFleetFlags(t *testing.T) {
	for _, args := range [][]string{{"-films", "1"}, {"-pace", "-1s"}, {"extra"}, {"-nonsense"}} {
		err := fleet(t.Context(), args, &bytes.Buffer{})
		require.Error(t, err, "%q", args)
		assert.Equal(t, 2, code(err, &bytes.Buffer{}), "%q", args)
	}
}
