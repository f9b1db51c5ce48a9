package fake_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

func TestRoles(t *testing.T) {
	roles, err := fake.Roles(map[string]*fake.Model{
		"director":    fake.New(t, fake.Text("plan"), fake.Text("sum")),
		"the critic":  fake.New(t, fake.Text("no")),
		"the%20one/2": fake.New(t, fake.Text("two")),
	})
	require.NoError(t, err)
	for _, tt := range []struct{ role, want string }{{"director", "plan"}, {"the critic", "no"}, {"director", "sum"}, {"the%20one/2", "two"}} {
		m, err := roles.Model(tt.role)
		require.NoError(t, err)
		got, err := m.Generate(t.Context(), user("a"))
		require.NoError(t, err)
		assert.Equal(t, tt.want, got.Text)
		assert.Equal(t, providers.Usage{Calls: 1}, got.Usage, "free of charge")
		p, ok := m.(providers.Priced)
		assert.True(t, ok && p.Priced())
	}
}

func TestRolesRefuse(t *testing.T) {
	_, err := fake.Roles(map[string]*fake.Model{"a": nil, "b": nil, "c": fake.New(t)})
	require.EqualError(t, err, "fake: role \"a\" has no Model\nfake: role \"b\" has no Model")
	_, err = fake.Roles(map[string]*fake.Model{"": fake.New(t)})
	require.Error(t, err)
	_, err = fake.Roles(nil)
	require.Error(t, err)
}
