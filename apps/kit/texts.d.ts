/** The texts of the application in one language, by key (scripts/apps.ts). */
declare module 'texts:en' {
  const texts: Readonly<Record<string, string>>
  export default texts
}
declare module 'texts:zh' {
  const texts: Readonly<Record<string, string>>
  export default texts
}
declare module 'texts:zh-Hant' {
  const texts: Readonly<Record<string, string>>
  export default texts
}
declare module 'texts:ja' {
  const texts: Readonly<Record<string, string>>
  export default texts
}
declare module 'texts:vi' {
  const texts: Readonly<Record<string, string>>
  export default texts
}
