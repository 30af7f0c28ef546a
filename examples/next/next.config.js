/** @type {import('next').NextConfig} */
export default { poweredByHeader: false, turbopack: { root: import.meta.dirname } }
