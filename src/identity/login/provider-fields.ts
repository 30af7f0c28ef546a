import * as z from 'zod'
import { opaque, sessionId } from '../../contract/fields.ts'

/* Fields of sign-ins with an identity provider. */

export const providerId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/)

export const returnTo = z
  .string()
  .max(2_048)
  .optional()
  .meta({
    description:
      'The page to which the provider leads the browser: `links.providerCallback`, the default, or one of the provider’s ' +
      '`returnTo`. It gets the reply in the fragment of its URL.',
  })

/** The parameters in the fragment of the callback page, and the session id of the request that led there. */
export const ProviderReply = z.strictObject({
  sessionId,
  code: opaque(4_096),
  state: opaque(512),
  iss: z.string().max(2_048).optional(),
})

export const StartedProviderAttempt = z.object({
  authorizationUrl: z.string().meta({ description: 'The page of the provider to which the browser goes.' }),
  sessionId: z.string().meta({
    description: 'Keep it in the browser, for example in `sessionStorage`, until the provider leads it back.',
  }),
  expiresIn: z.int(),
})

export const providerRefusals = [
  'AUTH.SESSION_NOT_FOUND',
  'AUTH.PROVIDER_REFUSED',
  'AUTH.PROVIDER_UNAVAILABLE',
] as const
