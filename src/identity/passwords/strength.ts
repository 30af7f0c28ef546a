/** Returns how hard a password is to guess, 0 to 4. `words` add no strength. */
export type Estimate = (password: string, words: string[]) => number

/** Only the first characters are estimated: the time grows faster than the length, and the rest cannot lower the score. */
const maxEstimatedLength = 40

/** Loads zxcvbn with common passwords and the English dictionary: tens of megabytes, so only on first use. */
const load = async (): Promise<Estimate> => {
  const [{ ZxcvbnFactory }, common, english] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
    import('@zxcvbn-ts/language-en'),
  ])
  const dictionary = { ...common.dictionary, ...english.dictionary }
  const estimator = new ZxcvbnFactory({ dictionary, graphs: common.adjacencyGraphs, maxLength: maxEstimatedLength })
  return (password, words) => estimator.check(password, words).score
}

let loading: Promise<Estimate> | undefined

/** Returns the estimator, loaded once per process. */
export const strengthEstimator = (): Promise<Estimate> => {
  loading ??= load()
  return loading
}
