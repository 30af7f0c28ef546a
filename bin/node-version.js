/**
 * Node 24 is the first version with `await using`. Node 25 got no long-term support, and our dependencies do not support
 * it. `engines` in package.json has the same range.
 *
 * @param {number} major
 */
const isSupported = (major) => major === 24 || major >= 26

/**
 * Returns the error message for an unsupported version of Node.
 *
 * @param {string} version like `v20.19.0`
 */
export const unsupportedNode = (version) =>
  isSupported(Number.parseInt(version.slice(1), 10))
    ? undefined
    : `portico: Node ${version} is not supported: Portico requires Node 24, or 26 or newer. In a clone, \`npx portico\` and \`npm start\` use the version that \`npm ci\` installs.\n`
