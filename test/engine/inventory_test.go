package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/inventory"
	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

// inventoried lists a real registry; each repository is a line of its tags, kinds and digests.
func inventoried(t *testing.T, d regcheck.Definition, limits inventory.Limits) (lines []string, found *inventory.Inventory) {
	t.Helper()
	policy, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	checker := &regcheck.Checker{Egress: policy}
	plan, problems := regcheck.Parse(d)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	report, found, err := inventory.List(t.Context(), checker, plan, inventory.Cursor{}, limits, func(r inventory.Repository) error {
		line := r.Name
		for _, tag := range r.Tags {
			line += fmt.Sprintf(" %s=%s@%s%s", tag.Name, tag.Kind, tag.Digest, tag.Problem)
		}
		lines = append(lines, line+r.Problem)
		return nil
	})
	if err != nil || !report.Valid {
		t.Fatalf("%v\n%s", err, describe(report))
	}
	return lines, found
}

// What oras-go pushed is what an inventory finds, tag by tag, kind by kind and digest by digest: over plain HTTP
// and TLS, behind Basic and behind a token service.
func TestInventoryOfRealRegistries(t *testing.T) {
	ca := testca.New(t, "registry authority")
	tokens := realregistry.NewTokenServer(t, realregistry.TokenRules{Users: users, CA: ca})
	for name, registry := range map[string]realregistry.Access{
		"open":            realregistry.Distribution(t, realregistry.Options{}),
		"htpasswd, https": realregistry.Distribution(t, realregistry.Options{Users: users, CA: ca}),
		"tokens, https":   realregistry.Distribution(t, realregistry.Options{Token: tokens, CA: ca}),
		"docker-registry": realregistry.DockerRegistry(t, users),
	} {
		t.Run(name, func(t *testing.T) {
			push := registry.As(user, password)
			line := func(kind realregistry.Kind, repository, word string, tags ...string) string {
				text := repository
				for _, tag := range tags {
					text += fmt.Sprintf(" %s=%s@%s", tag, word, realregistry.Push(t, push, kind, repository, tag).Digest)
				}
				return text
			}
			chart := line(realregistry.Helm, "charts/podinfo", "helm", "6.7.0", "6.7.1", "6.8.0_rc.1")
			deep := line(realregistry.Helm, "charts/team/web", "helm", "1.0.0")
			oldChart := line(realregistry.Helm, "charts-old/podinfo", "helm", "1.0.0")
			image := line(realregistry.Image, "images/alpine", "other", "3.20")
			pack := line(realregistry.Pack, "packs/spectro-packs/archive/cni-calico", "pack", "3.28.0")
			manifest := line(realregistry.Pack, "packs/spectro-manifests/manifest", "other", "4.8.0") // not a pack
			zarf := line(realregistry.Zarf, "zarf/dos-games", "zarf", "1.2.0")
			realregistry.Empty(t, push, "charts/emptied")
			untyped := line(realregistry.Pack, "other/thing", "other", "1")
			for _, row := range []struct {
				path     string
				provider regcheck.ProviderType
				want     []string
			}{
				{"charts", regcheck.Helm, []string{"charts/emptied", chart, deep}},
				{"charts/podinfo", regcheck.Helm, []string{chart}},
				{"zarf", regcheck.Zarf, []string{zarf}},
				{"packs", regcheck.Pack, []string{pack}},
			} {
				d := regcheck.Definition{Endpoint: registry.Endpoint, Auth: trusting(basic(user, password), registry.CA),
					BaseContentPath: row.path, ProviderType: row.provider}
				lines, found := inventoried(t, d, inventory.Limits{})
				if diff := cmp.Diff(row.want, lines); diff != "" || !found.Complete || len(found.Notes) > 0 {
					t.Errorf("%s: %+v %s", row.path, found, diff)
				}
			}
			d := regcheck.Definition{Endpoint: registry.Endpoint, Auth: trusting(basic(user, password), registry.CA),
				BaseContentPath: "packs", ProviderType: regcheck.Pack}
			if lines, _ := inventoried(t, d, inventory.Limits{Manifests: true}); !slices.Equal(lines, []string{manifest, pack}) {
				t.Errorf("packs with manifests: %q", lines)
			}
			d = regcheck.Definition{Endpoint: registry.Endpoint, Auth: trusting(basic(user, password), registry.CA)}
			lines, found := inventoried(t, d, inventory.Limits{})
			if len(lines) != 9 || !found.Complete {
				t.Errorf("the whole catalog: %+v\n%q", found, lines)
			}
			for _, want := range []string{oldChart, image, manifest, untyped} {
				if !slices.Contains(lines, want) {
					t.Errorf("the whole catalog lacks %s:\n%q", want, lines)
				}
			}
		})
	}
}

// Lists of a real registry come in pages: of 150 tags every one is found once, and a registry that lists no more
// than it was asked for is asked again.
func TestInventoryPages(t *testing.T) {
	registry := realregistry.Distribution(t, realregistry.Options{})
	for i := range 150 {
		realregistry.Push(t, registry, realregistry.Helm, "charts/many", fmt.Sprintf("1.0.%03d", i))
	}
	d := regcheck.Definition{Endpoint: registry.Endpoint, Auth: noAuth(), BaseContentPath: "charts"}
	if _, found := inventoried(t, d, inventory.Limits{}); found.Cursor.Tags != 150 || !found.Complete {
		t.Errorf("%+v", found)
	}
	if _, found := inventoried(t, d, inventory.Limits{RepositoryTags: 120}); found.Cursor.Tags != 120 {
		t.Errorf("%+v", found)
	}
}
