package fake_test

import (
	"testing"

	"github.com/convene-go/convene/providers/internal/stubtest"
	"github.com/convene-go/convene/providers/modeltest"
)

func TestModel(t *testing.T) { modeltest.Run(t, stubtest.Open) }
