/** That of package.json, which a test compares: a bundle has no package.json beside it. */
export const VERSION = '0.1.0';
