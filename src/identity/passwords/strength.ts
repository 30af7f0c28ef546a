/** How hard a password is to guess, 0 to 4; `words` of its surroundings make it no stronger. */
export type Estimate = (password: string, words: string[]) => number

/**
 * So much of a password is looked at: the estimate takes time that grows faster than its length, and what the first
 * characters are worth the whole is worth as well.
 */
const looked = 40

/** zxcvbn, with the common passwords and the English dictionary. They are tens of megabytes, so only who asks loads them. */
const load = async (): Promise<Estimate> => {
  const [{ ZxcvbnFactory }, common, english] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
    import('@zxcvbn-ts/language-en'),
  ])
  const dictionary = { ...common.dictionary, ...english.dictionary }
  const estimator = new ZxcvbnFactory({ dictionary, graphs: common.adjacencyGraphs, maxLength: looked })
  return (password, words) => estimator.check(password, words).score
}

let loading: Promise<Estimate> | undefined

export const strengthEstimate = (): Promise<Estimate> => {
  loading ??= load()
  return loading
}
