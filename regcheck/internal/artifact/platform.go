package artifact

import (
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// defaultPlatform is preferred in an index if no platform is requested.
const defaultPlatform = "linux/amd64"

const maxPlatforms = 12 // shown

// choose returns the manifest of an index for a platform. Without a requested platform and without a manifest for the
// default one, it is the first manifest that has a platform. problem names the platforms of the index as show returns them.
func choose(index []oci.Descriptor, platform string, show func(string) string) (d oci.Descriptor, problem string) {
	wanted := platform
	if wanted == "" {
		wanted = defaultPlatform
	}
	if i := slices.IndexFunc(index, func(d oci.Descriptor) bool { return matches(d.Platform, wanted) }); i >= 0 {
		return index[i], ""
	}
	if platform != "" {
		return d, "its index has no manifest for " + wire.CleanText(platform) + "; it has: " + platforms(index, show)
	}
	// unknown is that of attestations
	if i := slices.IndexFunc(index, func(d oci.Descriptor) bool { return d.Platform.OS != "unknown" }); i >= 0 {
		return index[i], ""
	}
	return index[0], ""
}

// matches reports whether a manifest is for a platform. Zarf packages have the operating system "multi".
func matches(p oci.Platform, wanted string) bool {
	parts := strings.SplitN(wanted+"//", "/", 4)
	return (p.OS == parts[0] || p.OS == "multi") && p.Architecture == parts[1] && (parts[2] == "" || p.Variant == parts[2])
}

func platforms(index []oci.Descriptor, show func(string) string) string {
	var names []string
	for _, d := range index {
		name := show(d.Platform.String())
		if name != "" && d.Platform.OS != "unknown" && !slices.Contains(names, name) && len(names) < maxPlatforms {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "manifests without a platform"
	}
	return strings.Join(names, ", ")
}

// IsPlatform reports whether a text is os/architecture or os/architecture/variant.
func IsPlatform(text string) bool {
	parts := strings.Split(text, "/")
	return len(parts) >= 2 && len(parts) <= 3 && len(text) <= 64 && !slices.Contains(parts, "") &&
		strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789._-/") == ""
}
