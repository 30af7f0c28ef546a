import { z } from 'zod'
import { isLocal } from './environment/server-urls.ts'
import { httpUrl, isOrigin } from './values.ts'

/** An origin with an optional path, a hash, or the permission to compile WebAssembly. Plain text only on this machine. */
const source = z
  .string()
  .regex(
    /^(?:(?:https|wss):\/\/[a-z0-9.-]+|(?:http|ws):\/\/(?:localhost|127\.0\.0\.1))(?::\d{1,5})?(?:\/[\w./~-]*)?$|^'sha(?:256|384|512)-[A-Za-z0-9+/]+={0,2}'$|^'wasm-unsafe-eval'$/,
    "an https or wss origin, such as https://cdn.example, a hash such as 'sha256-…', or 'wasm-unsafe-eval'",
  )

function sources(things: string) {
  return z.array(source).optional().describe(`Further sources of ${things}.`)
}

const csp = z
  .strictObject({
    script: sources('scripts. Each of them can do everything that your page can do'),
    style: sources('style sheets'),
    connect: sources('requests, WebSockets and event streams'),
    image: sources('images'),
    font: sources('fonts'),
    frame: sources('frames in the page'),
    trustedTypes: z
      .boolean()
      .optional()
      .describe(
        'Whether browsers refuse plain strings where text becomes HTML or a script URL. Scripts must then use Trusted Types.',
      ),
  })
  .optional()
  .describe(
    'Additions to the content security policy of the pages. By default it allows this origin, and the inline scripts and styles of the HTML files.',
  )

export const siteSettings = z
  .union(
    [
      z.strictObject({
        directory: z
          .string()
          .min(1)
          .describe(
            'Folder of a built single-page application, with `index.html`. A relative path starts at the working directory. It is read at start, so a new build needs a restart.',
          ),
        csp,
      }),
      z.strictObject({
        url: httpUrl
          .refine(isOrigin, 'an origin such as http://127.0.0.1:5173')
          .refine((text) => {
            const url = URL.parse(text)
            return url !== null && isLocal(url)
          }, 'an address of this machine, such as http://127.0.0.1:5173')
          .describe(
            'Origin of a development server on this machine, to which requests and WebSockets are relayed. Only the development profile accepts it.',
          ),
      }),
    ],
    { error: '`directory` of built files, or `url` of a development server' },
  )
  .describe('The front end of this portal, which the portal listener serves.')

/** Also serves as the switch: an application needs the access code, which its pages send. `null` in a file has no effect. */
export const appSettings = z
  .union([
    z.strictObject({
      accessCode: z
        .string()
        .min(1)
        .describe(
          'Plain text of one of the `accessCodes`. The pages of the application contain it, so everybody who can open them can read it.',
        ),
    }),
    z.literal('off').transform(() => null),
    z.literal(false).transform(() => null),
    z.null(),
  ])
  .describe(
    'The application of Portico for this portal: the consumer portal below `/portal`, or the operator console below `/console`. `off` serves none. In development, an application with another code than `accessCodes` is not served.',
  )

export type SitePolicy = NonNullable<z.output<typeof csp>>
