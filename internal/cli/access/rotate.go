package access

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/manage"
)

// rotateAPIKey returns the command that replaces a key by another one with the same name, user and lifetime.
func (p Commands) rotateAPIKey() *cobra.Command {
	email, keep := "", time.Duration(0)
	cmd := p.Command("rotate NAME", "Replace an API key; print the new one this one time", keyArg,
		func(c *manage.Call, args []string) error {
			former, err := findAPIKey(c, args[0], email)
			if err != nil {
				return err
			}
			return rotate(c, former, keep)
		}, manage.Changes)
	p.keyFlags(cmd, &email)
	flagvalue.Duration(cmd.Flags(), &keep, "keep", flagvalue.Day, 0, flagvalue.Longest, "at once",
		"how long the former key stays valid, so that programs can be changed; 0s ends it at once")
	return cmd
}

const undoTimeout = 10 * time.Second

// rotate makes room for the name first: names are unique, and a failure later must leave the former key as it was.
func rotate(c *manage.Call, former *api.APIKey, keep time.Duration) error {
	now := time.Now()
	name, uid := former.Metadata.Name, former.Metadata.UID
	renamed := api.APIKeyRequest{Metadata: api.Named{Name: name + " until " + now.UTC().Format("20060102T150405.000")}}
	if err := c.Client.APIKeys.Update(c.Ctx, uid, renamed); err != nil {
		return err
	}
	next := api.APIKeyRequest{Metadata: api.Named{Name: name}}
	expiry := now.Add(former.Spec.Expiry.Sub(former.Metadata.CreationTimestamp))
	next.Spec.Expiry, next.Spec.UserUID = expiry.Format(time.RFC3339Nano), former.Spec.User.UID
	next.Spec.Scope, next.Spec.ProjectUID = former.Spec.Scope, former.Spec.ProjectUID
	created, err := c.Client.APIKeys.Create(c.Ctx, next)
	if err != nil {
		// Also after Ctrl-C.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Ctx), undoTimeout)
		defer cancel()
		back := api.APIKeyRequest{Metadata: api.Named{Name: name}}
		return errors.Join(err, c.Client.APIKeys.Update(ctx, uid, back))
	}
	c.Note("Created a new API key %s, which expires on %s.", name, expiry.UTC().Format(time.DateOnly))
	if _, err := fmt.Fprintln(c.Cmd.OutOrStdout(), shownKey(c, created.APIKey, next.Spec.Scope)); err != nil {
		return err
	}
	return endLater(c, former, renamed.Metadata.Name, now.Add(keep), keep == 0)
}

// endLater ends the former key at the given time, unless it expires before.
func endLater(c *manage.Call, former *api.APIKey, name string, at time.Time, now bool) error {
	if now {
		if err := deactivate(c, former.Metadata.UID); err != nil {
			return fmt.Errorf("the former key is still valid: %w", err)
		}
		c.Note("Revoked the former key, which is called %s now.", name)
		return nil
	}
	if at.Before(former.Spec.Expiry) {
		change := api.APIKeyRequest{Spec: api.APIKeyRequestSpec{Expiry: at.Format(time.RFC3339Nano)}}
		if err := c.Client.APIKeys.Update(c.Ctx, former.Metadata.UID, change); err != nil {
			return fmt.Errorf("the former key stays valid until it expires: %w", err)
		}
	} else {
		at = former.Spec.Expiry
	}
	c.Note("The former key, which is called %s now, is valid until %s.", name, at.UTC().Format(time.RFC3339))
	return nil
}
