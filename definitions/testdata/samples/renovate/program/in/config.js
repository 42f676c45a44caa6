module.exports = {
  hostRules: [{ hostType: 'docker', matchHost: 'registry.example.com', username: 'robot', password: process.env.PASSWORD }],
};
