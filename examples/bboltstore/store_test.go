package bboltstore_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest"
	"github.com/convene-go/convene/examples/bboltstore"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) runlog.Store {
		s, err := bboltstore.Open(filepath.Join(t.TempDir(), "runs.db"))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, s.Close()) })
		return s
	})
}

func TestOneProcessAtATime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.db")
	s, err := bboltstore.Open(file)
	require.NoError(t, err)
	_, err = bboltstore.Open(file)
	require.ErrorContains(t, err, "timeout")
	require.NoError(t, s.Close())
	s, err = bboltstore.Open(file)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}
