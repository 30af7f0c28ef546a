import { delimiter, dirname } from 'node:path'

/** Variables of vitest and `npm test`, which a user's shell lacks. A proxy's certificates stay. */
const ofTests = /^(VITEST|FORCE_COLOR|NODE_(?!EXTRA_CA_CERTS$)|TEST$|DEV$|PROD$|MODE$|npm_(?!config_(cache|registry)$))/

/** `node` is the one of this process. */
export function userEnvironment(variables: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofTests.test(name))),
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    NO_COLOR: '1',
    ...variables,
  }
}
