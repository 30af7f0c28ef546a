/** The oldest supported major version of Node. */
const oldest = 24

/**
 * Returns the error message for an older version of Node.
 *
 * @param {string} version like `v20.19.0`
 */
export const unsupportedNode = (version) =>
  Number.parseInt(version.slice(1), 10) < oldest
    ? `portico: Node ${version} is not supported: Portico requires Node ${oldest} or newer. In a clone, \`npx portico\` and \`npm start\` use the version that \`npm ci\` installs.\n`
    : undefined
